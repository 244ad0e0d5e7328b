"""The launch plan: what is rendered for each engine, byte for byte the same each time."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.spec import launch_plan
from ansible_collections.tandem.campaign.plugins.module_utils._host.rules import Need, contract_for
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Cache, HostDeclaration, HostFacts, Role
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_recipes

RECIPES = read_recipes([COLLECTION_RECIPES])
WSL2 = HostFacts(observed=False, wsl2=True, link="PXB")
ROLES = {"compute_a": Role("GPU-a"), "compute_b": Role("GPU-b"), "compute_c": Role("GPU-c")}


def host(cache: Cache, roles: dict[str, Role] | None = None) -> HostDeclaration:
    return HostDeclaration(ROLES if roles is None else roles, {}, {}, cache, "/s", "/l", 60.0, 39050)


def plan(name: str) -> LaunchPlan:
    recipe = RECIPES[name].recipe
    return launch_plan(recipe, host(Cache(volume="hf")), contract_for(Need(WSL2, recipe)), launchers={})


def text(name: str) -> str:
    return " ".join(plan(name).argv)


def test_vllm() -> None:
    rendered = plan("laguna-s-2.1-nvfp4-tp2")
    folder = "/hf/hub/models--poolside--Laguna-S-2.1-NVFP4/snapshots/07614121b31898586430f189d27a25a0be310843"
    assert rendered.argv[:6] == (
        "python3",
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        folder,
        "--served-model-name",
    )
    assert "--max-model-len 262144 --max-num-seqs 1" in text("laguna-s-2.1-nvfp4-tp2")
    assert rendered.container is not None
    (mount,) = rendered.container.mounts
    assert (mount.kind, mount.source, mount.target, mount.read_only) == ("volume", "hf", "/hf/hub", True)
    assert rendered.environment["HF_HUB_OFFLINE"] == rendered.environment["TRANSFORMERS_OFFLINE"] == "1"
    assert rendered.environment["NCCL_CUMEM_HOST_ENABLE"] == "0"


def test_sglang() -> None:
    assert "--model-path /hf/hub/" in text("inkling-small-nvfp4-tp2")
    assert "--context-length 32768 --max-running-requests 1" in text("inkling-small-nvfp4-tp2")
    assert plan("inkling-small-nvfp4-tp2").environment["NCCL_PROTO"] == "LL,LL128,Simple"


def test_roles_come_from_the_inventory_in_its_order() -> None:
    assert plan("laguna-s-2.1-nvfp4-tp2").roles == {"compute_a": "GPU-a", "compute_b": "GPU-b"}


def test_it_is_pure() -> None:
    assert plan("laguna-s-2.1-nvfp4-tp2").sha256 == plan("laguna-s-2.1-nvfp4-tp2").sha256
    assert plan("laguna-s-2.1-nvfp4-tp2").sha256 != plan("inkling-small-nvfp4-tp2").sha256


def test_too_few_roles() -> None:
    recipe = RECIPES["laguna-s-2.1-nvfp4-tp2"].recipe
    with pytest.raises(RefusedError, match="needs 2 roles, the host declares 1"):
        launch_plan(
            recipe, host(Cache(path="/c"), {"a": Role("GPU-a")}), contract_for(Need(WSL2, recipe)), launchers={}
        )


def test_the_process_runtime_needs_a_folder_and_an_environment() -> None:
    recipe = RECIPES["smollm2-135m-instruct-q4"].recipe
    for cache, message in (
        (Cache(volume="hf"), "needs campaign_cache.path"),
        (Cache(path="/c"), "campaign_engine_environments.llama_cpp.python"),
    ):
        with pytest.raises(RefusedError, match=message):
            launch_plan(recipe, host(cache), contract_for(Need(WSL2, recipe)), launchers={"llama_cpp": "/x"})
