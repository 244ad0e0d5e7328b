"""Each finding where it is due, with its severity and its way out, and none where it isn't."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.findings import contract_findings
from ansible_collections.tandem.campaign.plugins.module_utils._host.rules import Need, contract_for
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import DockerFacts, HostFacts
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import ContractFinding
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_set

WSL2 = HostFacts(observed=True, wsl2=True, link="PXB", shm_gib=8.0)
NVLINK = HostFacts(observed=True, wsl2=False, link="NV18", peer_access=True, shm_gib=8.0)
RECIPES = {recipe.name: recipe for recipe in read_set(COLLECTION_RECIPES / "dual-rtx-pro-6000-tp2.toml").recipe}
#: Its variables are left out: one of them is a note everywhere.
QWEN: Recipe = replace(RECIPES["qwen35-122b-a10b-nvfp4-tp2"], env={})
PLAIN = replace(QWEN, args=tuple(group for group in QWEN.args if group != ("--disable-custom-all-reduce",)))
PROCESS = replace(QWEN, engine=replace(QWEN.engine, runtime="process", image=None, lock="x.txt"))
ONE = replace(QWEN, needs=replace(QWEN.needs, roles=1))
DESKTOP = DockerFacts("29.1.5", "1.52", "1.44", "6.6-microsoft-standard-WSL2", "Docker Desktop", "x86_64", True, True, False, False, None, (), ())  # fmt: skip


def with_ipc(ipc: Literal["host", "private"], shm_gib: float) -> Recipe:
    return replace(QWEN, limits=replace(QWEN.limits, ipc=ipc, shm_gib=shm_gib))


def findings(
    facts: HostFacts, recipe: Recipe, environment: dict[str, str] | None = None, severity: str = "error"
) -> list[ContractFinding]:
    need = Need(facts, recipe, ("GPU-a", "GPU-b")[: recipe.needs.roles], environment or {})
    return [finding for finding in contract_findings(need, contract_for(need)) if finding.severity == severity]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_seeds_recipes_keep_the_contract(recipe: Recipe) -> None:
    assert findings(WSL2, recipe) == []
    assert findings(WSL2, recipe, severity="warning") == []


def test_a_flag_that_lacks_where_peers_can_t_read_each_other() -> None:
    (found,) = findings(WSL2, PLAIN)
    assert (found.place, found.name, found.found, found.wanted) == (
        "recipe",
        "--disable-custom-all-reduce",
        "absent",
        "present",
    )
    assert "CUDA IPC" in found.sentence()
    assert found.sentence().endswith("add it to args")
    assert findings(NVLINK, PLAIN) == []


def test_the_same_flag_where_nothing_calls_for_it_is_a_note() -> None:
    (found,) = findings(NVLINK, QWEN, severity="note")
    assert "may cost speed" in found.sentence()
    assert findings(NVLINK, PLAIN, severity="note") == []
    # Nobody said that they can.
    assert findings(replace(NVLINK, peer_access=None), QWEN, severity="note") == []


@pytest.mark.parametrize("flag", ["--enable-symm-mem", "--enable-torch-symm-mem", "--enable-nccl-nvls"])
def test_arguments_that_force_what_the_contract_turns_off(flag: str) -> None:
    recipe = replace(QWEN, args=(*QWEN.args, (flag,)))
    (found,) = findings(WSL2, recipe)
    assert found.sentence().endswith("remove it from args")
    assert findings(NVLINK, recipe) == []


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({"NCCL_P2P_LEVEL": "SYS"}, "NCCL_P2P_LEVEL is SYS, wanted is absent: an NCCL setting"),
        ({"NCCL_CONF_FILE": "/etc/other.conf"}, "the file that it names may set anything"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, "wanted is native"),
        ({"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"}, "wanted is native"),
        ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "allocator's cache"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512,expandable_segments:False"}, None),
        ({"NCCL_VERSION": "2.28.9", "CUDA_VERSION": "13.0"}, None),
        # What the contract sets itself wins over the image.
        ({"NCCL_P2P_DISABLE": "0", "CUDA_VISIBLE_DEVICES": "7"}, None),
    ],
)  # fmt: skip
def test_what_an_image_brings_along(environment: dict[str, str], text: str | None) -> None:
    found = findings(WSL2, QWEN, environment)
    assert [(item.place, (text or "") in item.sentence()) for item in found] == ([("image", True)] if text else [])


def test_a_value_of_the_image_that_the_plan_wins_over_is_a_note() -> None:
    (found,) = findings(WSL2, QWEN, {"NCCL_P2P_DISABLE": "0", "NCCL_DEBUG": "INFO"}, "note")
    assert (found.name, found.found, found.wanted) == ("NCCL_P2P_DISABLE", "0", "1")


def test_one_gpu_needs_no_transport() -> None:
    assert findings(replace(WSL2, shm_gib=0.1), ONE, {"NCCL_P2P_LEVEL": "SYS"}) == []


def test_a_driver_that_does_not_tell() -> None:
    (found,) = findings(replace(NVLINK, peer_access=None), QWEN, severity="warning")
    assert "the probe of the transport decides" in found.sentence()
    assert findings(replace(WSL2, peer_access=None), QWEN, severity="warning") == []
    assert findings(HostFacts(observed=False, wsl2=False, link=None), QWEN, severity="warning") == []


@pytest.mark.parametrize(
    ("facts", "recipe", "place"),
    [
        pytest.param(WSL2, with_ipc("private", 0.0625), "recipe", id="the container's own"),
        pytest.param(replace(WSL2, shm_gib=0.0625), with_ipc("private", 2.0), None, id="the host's doesn't count for it"),
        pytest.param(replace(WSL2, shm_gib=0.0625), with_ipc("host", 32.0), "host", id="the host's"),
        pytest.param(replace(WSL2, shm_gib=0.0625, docker=DESKTOP), with_ipc("host", 32.0), None, id="another machine's"),
        pytest.param(replace(WSL2, shm_gib=0.0625), PROCESS, "host", id="a process"),
        pytest.param(replace(WSL2, shm_gib=None), PROCESS, None, id="unknown"),
        pytest.param(replace(WSL2, shm_gib=1.0), PROCESS, None, id="just enough"),
    ],
)  # fmt: skip
def test_shared_memory_where_it_is_served(facts: HostFacts, recipe: Recipe, place: str | None) -> None:
    found = findings(facts, recipe)
    assert [(item.place, item.name) for item in found] == ([(place, "/dev/shm")] if place else [])


def test_a_variable_that_the_release_does_not_read() -> None:
    recipe = next(item for item in RECIPES.values() if item.engine.version == "0.25.1")
    recipe = replace(recipe, env={**recipe.env, "VLLM_FLASHINFER_MOE_BACKEND": "latency"})
    sentences = [item.sentence() for item in findings(WSL2, recipe, severity="note")]
    assert (
        "recipe: env.VLLM_FLASHINFER_MOE_BACKEND is set: the upstream release vllm 0.25.1 does not read it" in sentences
    )


def test_the_worst_comes_first() -> None:
    recipe = replace(
        PROCESS,
        engine=replace(PROCESS.engine, kind="vllm", version="0.25.1"),
        env={"VLLM_FLASHINFER_MOE_BACKEND": "latency"},
    )
    need = Need(replace(NVLINK, peer_access=None, shm_gib=0.1), recipe, ("GPU-a", "GPU-b"))
    assert [item.severity for item in contract_findings(need, contract_for(need))] == ["error", "warning", "note"]
