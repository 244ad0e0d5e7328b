"""The inventory's mistakes, each with the variable's own name."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, InputError
from ansible_collections.tandem.campaign.plugins.plugin_utils.settings import (
    assumed_facts,
    campaign_id,
    host_declaration,
)

OPTIONS: dict[str, Any] = {
    "gpu_roles": {"compute_a": {"kind": "cpu"}},
    "services": {"omni": {"kind": "process", "argv": ["/bin/x"], "roles": ["compute_a"]}},
    "modes": {"split": {"services": ["omni"]}},
    "cache": {"path": "/c"},
    "engine_environments": {},
    "lock_path": "/l",
    "lease_s": 60,
    "port": 1,
    "min_free_gib": 1,
}


def test_good() -> None:
    assert host_declaration(OPTIONS, "/s").services["omni"].when_exclusive == "stopped"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"modes": {"split": {"services": ["omni", "voice"]}}},
            "campaign_modes.split: unknown service 'voice' (declared in campaign_services: omni)",
        ),
        (
            {"gpu_roles": {"compute_b": {"kind": "cpu"}}},
            "service omni: role 'compute_a' is not declared in campaign_gpu_roles",
        ),
        ({"gpu_roles": {"compute_a": {"uuid": "0"}}}, "campaign_gpu_roles.compute_a: a role names its device by uuid"),
        ({"gpu_roles": {}, "services": {}, "modes": {}}, "campaign_gpu_roles is empty"),
        ({"services": {"omni": {"kind": "process"}}}, "campaign_services.omni: a service of kind process needs argv"),
        (
            {"services": {"omni": {"kind": "pod"}}},
            "campaign_services.omni.kind: Input should be 'container', 'systemd', 'process' or 'command'",
        ),
        (
            {"services": {"omni": {"kind": "process", "argv": ["/x"], "port": 1}}},
            "campaign_services.omni.port: no such key",
        ),
        (
            {"services": {"omni": {"kind": "process", "argv": ["/x"], "needs": ["x"]}}},
            "service omni: needs 'x', which is not declared",
        ),
        ({"services": {"omni": {"kind": "process", "argv": ["/x"], "needs": ["omni"]}}}, "need each other in a circle"),
        (
            {"services": {"omni": {"kind": "process", "argv": ["/x"], "in_exclusive": "drained"}}},
            "in_exclusive: drained needs admission",
        ),
        (
            {"services": {"omni": {"kind": "process", "argv": ["/x", "--control-plane-api-keys", "a:b:admin:K"]}}},
            "campaign_services.omni: --control-plane-api-keys on a command line shows a secret",
        ),
        (
            {"services": {"omni": {"kind": "process", "argv": ["/x", "--hf-token=abc"]}}},
            "--hf-token on a command line shows a secret",
        ),
        ({"cache": {"path": "/c", "volume": "v"}}, "campaign_cache takes either path or volume"),
    ],
)
def test_bad(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CampaignError) as caught:
        host_declaration({**OPTIONS, **change}, "/s")
    assert message in str(caught.value)


def test_token_counts_are_no_secrets() -> None:
    argv = ["/x", "--max-num-batched-tokens", "8192", "--tokenizer", "t", "--max-tokens=4"]
    host_declaration({**OPTIONS, "services": {"omni": {"kind": "process", "argv": argv}}}, "/s")


def test_campaign_ids_name_folders() -> None:
    assert campaign_id("august-2") == "august-2"
    for bad in ("../x", "", "a b", "x" * 65):
        with pytest.raises(InputError):
            campaign_id(bad)


def test_assumed_facts_are_marked_as_such() -> None:
    assert not assumed_facts({"wsl2": True}).observed
    with pytest.raises(InputError, match="campaign_host_class: HostFacts: unknown key 'wsl3'"):
        assumed_facts({"wsl3": True})
