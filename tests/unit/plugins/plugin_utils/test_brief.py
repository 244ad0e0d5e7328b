"""The compatibility brief: every decision of a campaign before its launch, from the plan alone, and nothing claimed that was not looked at."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.action.plan import lane_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Gpu, HostFacts
from ansible_collections.tandem.campaign.plugins.plugin_utils.brief import (
    address,
    compatibility_brief,
    decision,
    decision_table,
    topology_table,
)
from ansible_collections.tandem.campaign.plugins.plugin_utils.lane import Observed
from ansible_collections.tandem.campaign.plugins.plugin_utils.packets import Packet
from ansible_collections.tandem.campaign.plugins.plugin_utils.planning import decide
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_recipes
from ansible_collections.tandem.campaign.plugins.plugin_utils.settings import host_declaration
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

TODAY = datetime.date(2026, 12, 4)
DECLARED = HostFacts(observed=False, wsl2=True, link="PXB")
DEVICES = ("GPU-aaaaaaaa-0000-4000-8000-00000000000a", "GPU-bbbbbbbb-0000-4000-8000-00000000000b")
HOST = host_declaration(
    {
        "gpu_roles": {"compute_a": {"uuid": DEVICES[0]}, "compute_b": {"uuid": DEVICES[1]}},
        "services": {"omni": {"kind": "container", "name": "omni", "roles": ["compute_a"]}},
        "modes": {}, "cache": {"volume": "hub"}, "lock_path": "/l", "lease_s": 60, "port": 28150, "min_free_gib": 1,
    },
    "/s",
)  # fmt: skip
SEEDS = {name: found for name, found in read_recipes([COLLECTION_RECIPES]).items() if name.endswith("tp2")}


@pytest.fixture
def plan(tmp_path: Path) -> dict[str, Any]:
    lanes = [
        decide(found, HOST, Observed(DECLARED), identity(), {}, inspecting=True)
        for _name, found in sorted(SEEDS.items())
    ]
    return {
        "identity": to_document(identity()),
        "facts": to_document(DECLARED),
        "host": to_document(HOST),
        "drift": [],
        "lanes": [lane_document(lane, HOST, Packet(tmp_path), "attempt", fresh=True) for lane in lanes],
    }


def test_the_seeds_campaign(plan: dict[str, Any]) -> None:
    text = compatibility_brief(plan, TODAY)
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["Topology boundary", "Launch decisions", "Quantization search results", "Evidence gates"]
    assert len(SEEDS) == 5
    for found in SEEDS.values():
        assert f"{found.recipe.name}: {found.recipe.model.repo}" in text.replace("\\", "")
        assert found.recipe.model.revision in text
    assert "The host was not read" in text
    assert r"NCCL\_CUMEM\_ENABLE=0 | cuMem mapping fails with CUDA error 999 under WSL2 | all |" in text
    assert "| omni | container | compute\\_a | stopped |" in text
    searches = text.split("## Quantization search results")[1].split("## ")[0]
    assert searches.count("Needs local proof") == 2
    assert "nothing labelled NVFP8" in searches


def test_what_was_not_looked_at_is_not_claimed(plan: dict[str, Any]) -> None:
    for row in decision_table(plan["lanes"])[1]:
        assert row[4:6] == ("not read yet", "not estimated")
    assert ("peer access, as the driver tells", "not known") in topology_table(plan["facts"])[1]


def test_facts_and_proofs_once_they_are_there(plan: dict[str, Any]) -> None:
    gpu = Gpu(0, "RTX PRO 6000", DEVICES[0], "01:00.0", "610.88", 97887, None, 300.0, "12.0")
    facts = replace(DECLARED, observed=True, gpus=(gpu,), peer_access=False, windows="10.0.26100", shm_gib=0.0625)
    plan |= {"facts": to_document(facts), "drift": ["campaign_host_class.link is 'PXB', the host says 'SYS'"]}
    lane = plan["lanes"][0]
    lane["snapshot"] = {
        "checkpoint": {"quantization": {"method": None, "formats": ["FP4", "FP8"], "kv": None, "sources": []}}
    }
    lane["fit"] = {"verdict": "fits", "reason": "3.0 GiB left"}
    text = compatibility_brief(plan, TODAY)
    assert "RTX PRO 6000, 97,887 MiB, compute capability 12.0, 300 W, driver 610.88" in text
    assert "| peer access, as the driver tells | no |" in text
    assert "yes, Windows 10.0.26100" in text
    assert "The host is not as declared: campaign" in text
    assert decision_table(plan["lanes"])[1][0][4:6] == ("FP4, FP8", "fits: 3.0 GiB left")


def test_decisions(plan: dict[str, Any]) -> None:
    lane = plan["lanes"][0]
    lane |= {"findings": [], "protocols": {name: {} for name in SEEDS[lane["name"]].recipe.protocols()}}
    assert decision(lane) == "run"
    assert decision({**lane, "action": "complete"}) == "complete: its verdict is in the packet"
    assert decision({**lane, "refusal": "no device"}) == "refused: no device"
    finding = {"severity": "error", "place": "recipe", "name": "ipc", "found": "x", "wanted": "y", "reason": "z"}
    assert decision({**lane, "findings": [finding]}).startswith("refused: ")
    gone: dict[str, Any] = {name: {} for name in lane["protocols"] if not name.startswith("functional/")}
    assert decision({**lane, "protocols": gone}) == "not run: functional/v1 is not in this version"


def test_hostile_text_is_harmless(plan: dict[str, Any]) -> None:
    lane = plan["lanes"][0]
    lane["sources"] = [{**lane["sources"][0], "says": "<script>|{{ x }}\x1b[31m", "address": "https://x/>\n<b>`"}]
    text = compatibility_brief(plan, TODAY)
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "<https://x/b>" in text
    assert address("https://a/b?c=d&e=%3A") == "https://a/b?c=d&e=%3A"
