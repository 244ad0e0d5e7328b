"""Canonical JSON and the way back into dataclasses."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import (
    canonical_json,
    from_document,
    sha256_of,
    to_document,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Health, HostDeclaration
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan

PLAN = LaunchPlan(
    "r",
    "vllm",
    "process",
    ("python", "-m", "x"),
    {"A": "1"},
    "r",
    "/s",
    "127.0.0.1",
    1,
    1.0,
    1.0,
    4096,
    1,
    {"compute_a": "cpu"},
)


def test_key_order_and_spaces_do_not_count() -> None:
    assert canonical_json({"b": 1, "a": [1, 2]}) == canonical_json({"a": [1, 2], "b": 1}) == '{"a":[1,2],"b":1}'


def test_nan_is_no_document() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json({"a": float("nan")})


def test_a_plan_survives_the_wire() -> None:
    assert from_document(LaunchPlan, to_document(PLAN)) == PLAN
    assert from_document(LaunchPlan, to_document(PLAN)).sha256 == PLAN.sha256


def test_every_part_of_a_plan_is_in_its_hash() -> None:
    document = to_document(PLAN)
    changed = {**document, "environment": {"A": "2"}}
    assert from_document(LaunchPlan, changed).sha256 != PLAN.sha256


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(TypeError, match="Health: unknown key 'uri'"):
        from_document(Health, {"uri": "x"})


def test_a_host_survives_the_wire() -> None:
    document = {
        "gpu_roles": {"a": {"kind": "cpu"}},
        "services": {"omni": {"kind": "process", "argv": ["/bin/x"], "health": {"url": "http://127.0.0.1:1/"}}},
        "modes": {"split": {"services": ["omni"]}},
        "cache": {"path": "/c"},
        "state_dir": "/s",
        "lock_path": "/l",
        "lease_s": 60.0,
        "port": 1,
    }
    host = from_document(HostDeclaration, document)
    assert host.services["omni"].argv == ("/bin/x",)
    assert from_document(HostDeclaration, to_document(host)) == host
    assert sha256_of(host) == sha256_of(to_document(host))
