"""The demo campaign, asserted on its packet: outcomes, files, hashes, identity blocks, an empty state difference."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import from_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.identity import Identity
from ansible_collections.tandem.campaign.plugins.plugin_utils.packets import Packet

from .conftest import DemoHost

GOOD, CONTROL = "smollm2-135m-instruct-q4", "smollm2-135m-corrupt-control"
HOST_FILES = {
    "manifest.json", "verdict.json", "campaign.json", "host.json", "timeline.jsonl", "state-before.json", "state-after.json", "state-diff.json",
    "journal.jsonl", "report.md",
}  # fmt: skip
LANE_FILES = {
    "recipe.json", "plan.json", "live.json", "snapshot.json", "fit.json", "sources.json", "image.json", "contract.json", "nccl.json", "engine.json",
    "models.json", "functional.json", "verdict.json", "attempt.json", "rows.jsonl", "startup.log", "unload.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def demo(demo_host: DemoHost) -> tuple[Path, str]:
    """(packet, terminal) of one run of the two lanes."""
    done = demo_host.campaign(campaign_id="demo", campaign_recipes=[GOOD, CONTROL], campaign_lease_s=60, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return demo_host.folder / "campaigns" / "demo" / "primary", done.stdout


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def lanes(packet: Path) -> dict[str, Any]:
    return {lane["recipe"]: lane for lane in read(packet / "verdict.json")["lanes"]}


def test_outcomes(demo: tuple[Path, str]) -> None:
    packet, terminal = demo
    verdict = read(packet / "verdict.json")
    assert verdict["schema"] == "tandem.verdict/v1"
    assert (verdict["outcome"], verdict["simulated"], verdict["promotion"]) == ("passed", False, "none")
    assert lanes(packet)[GOOD]["outcome"] == "qualified_with_caveats"
    assert lanes(packet)[CONTROL]["outcome"] == "rejected"
    assert lanes(packet)[CONTROL]["control"] == {"expect": "rejected", "met": True}
    assert re.search(rf"{GOOD}\s+qualified_with_caveats\s+passed\s+passed\s+passed\s+-", terminal)
    assert re.search(rf"{CONTROL}\s+rejected\s+failed\s+not_run\s+not_run\s+caught", terminal)


def test_the_control_was_never_timed(demo: tuple[Path, str]) -> None:
    packet, _terminal = demo
    folder = packet / "lanes" / CONTROL
    assert not list(folder.glob("capacity-*.json"))
    assert not (folder / "quality.json").exists()
    protocols = {json.loads(line)["protocol"] for line in (folder / "rows.jsonl").read_text().splitlines()[1:]}
    assert protocols == {"functional/v1"}


def test_required_checks_passed_and_advisory_failures_are_caveats(demo: tuple[Path, str]) -> None:
    packet, _terminal = demo
    (profile,) = lanes(packet)[GOOD]["profiles"]
    checks = {check["name"]: check for gate in profile["gates"] for check in gate["checks"]}
    required = {name for name, check in checks.items() if check["level"] == "required"}
    assert required == {"known_answer", "json_schema", "streaming", "retrieval_1k", "coherence_short"}
    assert all(checks[name]["verdict"] == "passed" for name in required)
    failed = {f"off/{name}" for name, check in checks.items() if check["verdict"] == "failed"}
    assert failed
    assert {caveat["id"] for caveat in lanes(packet)[GOOD]["caveats"]} == failed


def test_files_and_hashes(demo: tuple[Path, str]) -> None:
    packet, _terminal = demo
    assert {path.name for path in packet.iterdir() if path.is_file()} >= HOST_FILES
    for name in (GOOD, CONTROL):
        assert {path.name for path in (packet / "lanes" / name).iterdir()} >= LANE_FILES
    assert Packet(packet).check() == []
    for name, entry in read(packet / "manifest.json")["files"].items():
        assert hashlib.sha256((packet / name).read_bytes()).hexdigest() == entry["sha256"]


def test_every_document_has_schema_and_identity(demo: tuple[Path, str]) -> None:
    packet, _terminal = demo
    for path in packet.rglob("*.json"):
        document = read(path)
        assert re.fullmatch(r"tandem\.[a-z-]+/v1", document["schema"]), path
        assert from_document(Identity, document["identity"]).campaign == "demo", path


def test_the_identity_is_one_and_whole(demo: tuple[Path, str]) -> None:
    packet, _terminal = demo
    for name in (GOOD, CONTROL):
        folder = packet / "lanes" / name
        live = read(folder / "live.json")["identity"]
        assert live["unknown"] == {}
        assert live["engine_version"] == "2026.10.11549"
        assert live["lane_key"] == read(folder / "verdict.json")["lane_key"]
        for artifact in ("functional", "recipe", "verdict", "snapshot", "attempt"):
            assert read(folder / f"{artifact}.json")["identity"] == live, artifact
        assert live["plan_sha256"] == read(folder / "plan.json")["plan_sha256"]
    assert (
        read(packet / "lanes" / GOOD / "live.json")["identity"]["lane_key"]
        != read(packet / "lanes" / CONTROL / "live.json")["identity"]["lane_key"]
    )


def test_the_state_is_as_before(demo: tuple[Path, str], demo_host: DemoHost) -> None:
    packet, _terminal = demo
    assert read(packet / "state-diff.json")["count"] == 0
    before = read(packet / "state-before.json")
    assert before["services"]["omni"]["health"] == 200
    assert before["admissions"]["router"] == [{"url": f"http://127.0.0.1:{demo_host.port + 1}", "healthy": True}]
    steps = [json.loads(line)["step"] for line in (packet / "journal.jsonl").read_text().splitlines()]
    assert (
        steps.index("drain:router:omni")
        < steps.index("stop:omni")
        < steps.index("undo:stop:omni")
        < steps.index("undo:drain:router:omni")
    )
    assert demo_host.is_as_the_owner_left_it()


def test_capacity_is_recomputed_from_its_rows(demo: tuple[Path, str]) -> None:
    packet, _terminal = demo
    folder = packet / "lanes" / GOOD
    document = read(folder / "capacity-1.json")
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()[1:]]
    timed = [row["reply"] for row in rows if row["protocol"] == "capacity/v3" and not row["warmup"]]
    warmups = [row for row in rows if row["protocol"] == "capacity/v3" and row["warmup"]]
    assert (document["completed"], document["failed"], len(timed), len(warmups)) == (12, 0, 12, 1)
    first = sorted(reply["first_output_ns"] for reply in timed)[5] / 1e9
    assert document["metrics"]["first_output_s"]["p50"] == pytest.approx(first)
    assert document["metrics"]["first_output_s"]["p95"] is None
    assert all(abs(reply["prompt_tokens"] - document["prompt_target_tokens"]) <= 4 for reply in timed)
    assert document["cache"]["unique"] is True


def test_the_terminal_was_never_silent_for_long(demo: tuple[Path, str]) -> None:
    packet, terminal = demo
    assert "capacity 7/12, first output p50" in terminal
    times = [json.loads(line)["t"] for line in (packet / "timeline.jsonl").read_text().splitlines()]
    rows = [json.loads(line) for file in packet.rglob("rows.jsonl") for line in file.read_text().splitlines()[1:]]
    longest_request = max(row["reply"]["end_ns"] for row in rows) / 1e9
    assert max(late - early for early, late in itertools.pairwise(times)) < longest_request + 15
