"""What the host can't do is refused before anything is touched, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    DockerFacts,
    Gpu,
    HostFacts,
    Rehearsal,
    Role,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import QualityGate
from ansible_collections.tandem.campaign.plugins.plugin_utils.lane import Lane, Observed
from ansible_collections.tandem.campaign.plugins.plugin_utils.planning import decide, fit_of, host_class
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import (
    COLLECTION_RECIPES,
    FoundRecipe,
    read_recipes,
)
from ansible_collections.tandem.campaign.plugins.plugin_utils.refusals import host_problems, refuse_devices
from ansible_collections.tandem.campaign.plugins.plugin_utils.settings import host_declaration
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

BASE = identity()
RECIPES = read_recipes([COLLECTION_RECIPES])
DEMO = RECIPES["smollm2-135m-instruct-q4"]
HOST = host_declaration(
    {
        "gpu_roles": {"compute_a": {"kind": "cpu"}}, "services": {}, "modes": {}, "cache": {"path": "/hub"},
        "engine_environments": {"llama_cpp": {"python": "/env/python"}}, "lock_path": "/l", "lease_s": 60, "port": 39150, "min_free_gib": 1,
    },
    "/s",
)  # fmt: skip
FACTS = HostFacts(observed=True, wsl2=False, link=None, cpu_model="EPYC", cpu_count=2)
MODEL = DEMO.recipe.model
PROVEN = {(MODEL.repo, MODEL.revision): {"proof": "p" * 64, "problems": [], "texts": []}}
ENVIRONMENTS = {"llama_cpp": {"problem": None, "distributions": {"xllamacpp": "2026.10.11549"}}}


def lane(found: FoundRecipe = DEMO, *, inspecting: bool = False, **observed: Any) -> Lane:
    seen = Observed(**{"facts": FACTS, "engine_environments": ENVIRONMENTS, "snapshots": PROVEN, **observed})
    return decide(found, HOST, seen, BASE, {"llama_cpp": "/s/programs/launcher.py"}, inspecting=inspecting)


def test_a_lane_that_may_run() -> None:
    ready = lane()
    assert ready.refusal is None
    assert ready.key is not None
    assert ready.identity.lane_key == ready.key
    assert ready.plan is not None
    assert ready.plan.argv[:4] == (
        "/env/python",
        "/s/programs/launcher.py",
        "--model",
        f"{ready.plan.snapshot}/{MODEL.file}",
    )
    assert ready.plan.environment["HF_HUB_OFFLINE"] == "1"
    assert lane().key == ready.key


def test_the_host_class_is_in_the_key() -> None:
    assert lane(facts=replace(FACTS, cpu_model="Xeon")).key != lane().key


@pytest.mark.parametrize(
    ("observed", "message", "outcome"),
    [
        ({"snapshots": {}}, "was not verified", "infrastructure"),
        (
            {
                "snapshots": {
                    (MODEL.repo, MODEL.revision): {
                        "proof": None,
                        "problems": [1],
                        "texts": ["x.gguf: expected a, found b"],
                    }
                }
            },
            "x.gguf: expected a, found b. Nothing is fetched here; complete this revision first",
            "infrastructure",
        ),
        ({"engine_environments": {}}, "campaign_engine_environments.llama_cpp.python is not set", "infrastructure"),
        (
            {"engine_environments": {"llama_cpp": {"problem": "No such file"}}},
            "llama_cpp.python: No such file",
            "infrastructure",
        ),
        (
            {"engine_environments": {"llama_cpp": {"problem": None, "distributions": {"xllamacpp": "1.0"}}}},
            "xllamacpp is 1.0, the recipe's lock pins 2026.10.11549",
            "infrastructure",
        ),
    ],
)
def test_refusals(observed: dict[str, Any], message: str, outcome: str) -> None:
    refused = lane(**observed)
    assert message in str(refused.refusal)
    assert refused.outcome_if_refused == outcome
    assert refused.key is None


def test_every_error_against_the_contract_refuses_and_is_named() -> None:
    """Case A5's kind: what would die in the first collective ends before a service is touched."""
    recipe = replace(
        DEMO.recipe,
        engine=replace(DEMO.recipe.engine, kind="vllm"),
        needs=replace(DEMO.recipe.needs, roles=2),
        args=(("--enable-symm-mem",),),
    )
    gpus = tuple(Gpu(n, "RTX", f"GPU-{n}", f"0{n}", "591", 97887, 0, None, "12.0") for n in range(2))
    facts = replace(FACTS, wsl2=True, gpus=gpus, shm_gib=0.0625)
    host = replace(HOST, gpu_roles={f"compute_{gpu.index}": Role(gpu.uuid) for gpu in gpus})
    refused = decide(replace(DEMO, recipe=recipe), host, Observed(facts, snapshots=PROVEN), BASE, {}, inspecting=False)
    assert [finding.severity for finding in refused.findings] == ["error"] * 3
    for part in ("--disable-custom-all-reduce is absent", "--enable-symm-mem is present", "/dev/shm is 0.0625 GiB"):
        assert part in str(refused.refusal)
    assert refused.outcome_if_refused == "infrastructure"


def test_what_is_not_built_is_refused_by_name_and_inspected_all_the_same() -> None:
    profile = replace(DEMO.recipe.profile[0], quality=QualityGate("quality/v9"))
    future = replace(DEMO, recipe=replace(DEMO.recipe, profile=(profile,)))
    refused = lane(future)
    assert "protocol quality/v9 is not in this version" in str(refused.refusal)
    assert refused.outcome_if_refused == "not_run"
    inspected = lane(RECIPES["laguna-s-2.1-nvfp4-tp2"], inspecting=True)
    assert "needs 2 roles, the host declares 1" in str(inspected.refusal)


DIGEST = f"sha256:{'ab12' * 16}"
IMAGE = f"registry.example/engine@{DIGEST}"
ENGINE = replace(DEMO.recipe.engine, runtime="docker", image=IMAGE, lock=None)
IN_DOCKER = FoundRecipe(replace(DEMO.recipe, engine=ENGINE), DEMO.file)
DOCKER = DockerFacts("29", "1.52", "1.44", "6.6", "Debian", "x86_64", False, False, False, False, None, (), ())
IMAGE_REPORT: dict[str, Any] = {
    "image": IMAGE,
    "id": "sha256:1d",
    "environment": {},
    "entrypoint": ["/opt/tandem/llama-cpp-server"],
    "problems": [],
}


def docker_lane(facts: HostFacts | None = None, **report: Any) -> Lane:
    found = replace(FACTS, docker=DOCKER) if facts is None else facts
    return lane(IN_DOCKER, facts=found, images={IMAGE: {**IMAGE_REPORT, **report}})


def test_a_lane_in_a_container() -> None:
    ready = docker_lane()
    assert ready.refusal is None
    assert ready.plan is not None
    assert ready.plan.container is not None
    assert (ready.plan.container.image, ready.plan.container.image_id) == (IMAGE, "sha256:1d")
    assert ready.key is not None


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({"problems": [f"image {IMAGE} is not on this host"]}, DIGEST),
        ({"problems": ["Docker cannot serve GPU requests here"]}, "Docker cannot serve GPU requests here"),
    ],
)
def test_what_is_wrong_with_an_image_refuses_its_lane(report: dict[str, Any], message: str) -> None:
    """Cases D13 and B5: before the mode is touched."""
    assert message in str(docker_lane(**report).refusal)


def test_an_engine_that_repeats_its_entrypoint_is_refused() -> None:
    """Case D14."""
    twice = replace(ENGINE, entrypoint=("engine", "serve", "serve"))
    found = FoundRecipe(replace(DEMO.recipe, engine=twice), DEMO.file)
    images = {IMAGE: {**IMAGE_REPORT, "entrypoint": ["engine", "serve"]}}
    refused = lane(found, facts=replace(FACTS, docker=DOCKER), images=images)
    assert "the argument 'serve' would be rejected" in str(refused.refusal)


def test_no_docker_engine() -> None:
    assert "was not asked" in str(docker_lane(FACTS).refusal)
    silent = replace(FACTS, docker_problem="the Docker Engine at /s can't describe itself: refused")
    assert "can't describe itself" in str(docker_lane(silent).refusal)


@pytest.mark.parametrize(
    ("visible", "accepted"), [([], False), (["b2"], False), (["b2", "c3"], True), (["a1", "b2", "c3"], True)]
)
def test_inspection_needs_no_gpu_and_a_load_its_exact_ones(visible: list[str], accepted: bool) -> None:
    """Case B8."""
    gpus = tuple(
        Gpu(number, "RTX", f"GPU-{name}", "b", "591", 1, 1, None, "12.0") for number, name in enumerate(visible)
    )
    facts = replace(FACTS, gpus=gpus)
    host = replace(HOST, gpu_roles={"primary": Role("GPU-b2"), "secondary": Role("GPU-c3")})
    seed = RECIPES["laguna-s-2.1-nvfp4-tp2"]
    assert decide(seed, host, Observed(facts), BASE, {}, inspecting=True).refusal is None
    if accepted:
        refuse_devices(seed.recipe, host, facts)
    else:
        with pytest.raises(RefusedError, match=f"needs 2 GPUs, {len(visible)} of 2 are on this host"):
            refuse_devices(seed.recipe, host, facts)


REPORT: dict[str, Any] = {
    "facts": {"python": "3.11.2", "user": "me"},
    "state_dir": {"path": "/s", "writable": True, "free_gib": 5.0},
    "port_free": True,
    "reservation": None,
}


def test_no_problem() -> None:
    assert host_problems(HOST, REPORT, takeover=False) == []


def test_a_stale_reservation_is_left_to_the_mode_when_told_to() -> None:
    held = {**REPORT, "reservation": {"campaign": "run-0007", "since": "then"}}
    assert host_problems(HOST, held, takeover=True) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"state_dir": {"path": "/s", "writable": False, "free_gib": 5.0}},
            "campaign_state_dir /s can't be written by me",
        ),
        ({"state_dir": {"path": "/s", "writable": True, "free_gib": 0.4}}, "has 0.40 GiB free, evidence needs 1"),
        ({"port_free": False}, "port 39150 is taken on this host; free it or set campaign_port"),
        (
            {"port_free": False, "port_models": ["old-model"]},
            "port 39150 is taken on this host (what answers there lists old-model); free it",
        ),
        ({"reservation": {"campaign": "x", "since": "t"}}, "ansible-playbook tandem.campaign.restore"),
        ({"facts": {"python": "3.9.2", "user": "me"}}, "the host's Python is 3.9.2, 3.10 or newer is needed"),
    ],
)
def test_host_problems(change: dict[str, Any], message: str) -> None:
    (problem,) = host_problems(HOST, {**REPORT, **change}, takeover=False)
    assert message in problem


CHECKPOINT = {
    "weight_bytes": 10,
    "quantization": {"method": None, "formats": ["FP4", "FP8"], "kv": None, "sources": ["config.json"]},
    "kv": None,
    "architecture": None,
}


def test_a_label_that_the_checkpoint_does_not_declare_is_refused() -> None:
    weights = {(MODEL.repo, MODEL.revision): {"proof": "p" * 64, "problems": [], "texts": [], "checkpoint": CHECKPOINT}}
    labelled = FoundRecipe(replace(DEMO.recipe, model=replace(MODEL, quantization="NVFP4")), DEMO.file)
    assert "quantization 'NVFP4': the checkpoint declares FP4, FP8 (config.json)" in str(
        lane(labelled, snapshots=weights).refusal
    )


def test_weights_beyond_all_memory_are_refused_and_everything_else_is_advice() -> None:
    """The 266B FP8 Inkling on two cards of 96 GB."""
    recipe = RECIPES["inkling-small-nvfp4-tp2"].recipe
    cards = tuple(f"GPU-{number}" for number in range(2))
    facts = replace(
        FACTS,
        gpus=tuple(Gpu(index, "RTX", uuid, "0", "580", 97887, 0, 300.0, "12.0") for index, uuid in enumerate(cards)),
    )
    refused = fit_of(recipe, {"checkpoint": {**CHECKPOINT, "weight_bytes": 266e9}}, cards, facts)
    assert refused is not None
    assert refused.refused
    advice = fit_of(recipe, {"checkpoint": {**CHECKPOINT, "weight_bytes": 190e9}}, cards, facts)
    assert advice is not None
    assert (advice.refused, advice.verdict) == (False, "unknown")
    assert fit_of(recipe, None, cards, facts) is None
    assert fit_of(recipe, {"checkpoint": CHECKPOINT}, ("cpu",), facts) is None


def test_a_rehearsal_has_a_key_of_its_own_and_looks_at_no_weights() -> None:
    rehearsal = {"python": "/env/python", "program": "/fakes/played_engine.py", "behaviours": "/behaviours"}
    host = replace(HOST, rehearsal=Rehearsal(**rehearsal, time_scale=0.5))
    played = decide(
        DEMO, host, Observed(FACTS), replace(BASE, weights_sha256=None, lane_key=None), {}, inspecting=False
    )
    assert played.refusal is None
    assert played.plan is not None
    assert played.plan.argv[:6] == (
        "/env/python",
        "/fakes/played_engine.py",
        "--behaviour",
        f"/behaviours/{DEMO.recipe.name}.toml",
        "--time-scale",
        "0.5",
    )
    assert (played.key is None, played.key == lane().key, played.identity.weights_sha256) == (False, False, None)
    assert host_class(FACTS, host, "docker", 1) == {
        **host_class(FACTS, HOST, "process", 1),
        "simulated": True,
    }
