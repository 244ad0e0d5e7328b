"""What the host can't do is refused before anything is touched, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import HostFacts
from ansible_collections.tandem.campaign.plugins.plugin_utils.planning import Lane, Observed, decide, host_problems
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import (
    COLLECTION_RECIPES,
    FoundRecipe,
    read_recipes,
)
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
            f"x.gguf: expected a, found b. Fetch it whole: hf download {MODEL.repo} --revision {MODEL.revision}",
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


def test_what_is_not_built_is_refused_by_name_and_inspected_all_the_same() -> None:
    seed = RECIPES["laguna-s-2.1-nvfp4-tp2"]
    refused = lane(seed)
    assert "runtime 'docker' is not in this version" in str(refused.refusal)
    assert refused.outcome_if_refused == "not_run"
    inspected = lane(seed, inspecting=True)
    assert "needs 2 roles, the host declares 1" in str(inspected.refusal)


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
        ({"reservation": {"campaign": "x", "since": "t"}}, "ansible-playbook tandem.campaign.restore"),
        ({"facts": {"python": "3.9.2", "user": "me"}}, "the host's Python is 3.9.2, 3.10 or newer is needed"),
    ],
)
def test_host_problems(change: dict[str, Any], message: str) -> None:
    (problem,) = host_problems(HOST, {**REPORT, **change}, takeover=False)
    assert message in problem
