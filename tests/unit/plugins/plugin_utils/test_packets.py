"""Packets: complete only while every file is what the manifest says; nothing is overwritten."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.record import stamp
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import write_json
from ansible_collections.tandem.campaign.plugins.plugin_utils.packets import Packet, history_pattern

KEY = "k" * 64


def lane(packet: Packet, outcome: str = "qualified", attempt: str = "1") -> Path:
    folder = packet.lane("one")
    write_json(folder / "verdict.json", {"lane_key": KEY, "outcome": outcome})
    write_json(folder / "attempt.json", {"attempt": attempt})
    (folder / "rows.jsonl").write_text('{"schema":"tandem.rows/v1"}\n')
    packet.write_manifest({"campaign": "c"})
    return folder


@pytest.fixture
def packet(tmp_path: Path) -> Packet:
    return Packet(tmp_path / "c" / "h")


def test_complete(packet: Packet) -> None:
    lane(packet)
    stored = packet.stored_lane("one", KEY)
    assert stored is not None
    assert stored["outcome"] == "qualified"


@pytest.mark.parametrize("outcome", ["inconclusive", "infrastructure", "not_run"])
def test_these_run_again(packet: Packet, outcome: str) -> None:
    lane(packet, outcome)
    assert packet.stored_lane("one", KEY) is None


def test_another_key_is_another_lane(packet: Packet) -> None:
    lane(packet)
    assert packet.stored_lane("one", "x" * 64) is None
    assert packet.stored_lane("one", None) is None


@pytest.mark.parametrize("harm", ["change", "remove", "add"])
def test_harm_is_noticed(packet: Packet, harm: str) -> None:
    folder = lane(packet)
    if harm == "change":
        (folder / "rows.jsonl").write_text("{}\n")
    elif harm == "remove":
        (folder / "rows.jsonl").unlink()
    else:
        (folder / "more.json").write_text("{}")
    assert len(packet.check()) == 1
    assert packet.stored_lane("one", KEY) is None


def test_a_later_attempt_sets_the_earlier_aside(packet: Packet, tmp_path: Path) -> None:
    lane(packet)
    extracted = tmp_path / "extracted"
    for name in ("0", "2"):
        write_json(extracted / name / "plan.json", {"identity": {"n": name}})
    assert packet.place_attempts("one", extracted, "2") == ["0", "2"]
    folder = packet.lane("one")
    assert json.loads((folder / "plan.json").read_text()) == {"identity": {"n": "2"}}
    assert (folder / "attempts" / "1" / "rows.jsonl").is_file()
    assert (folder / "attempts" / "1" / "superseded.json").is_file()
    interrupted = json.loads((folder / "attempts" / "0" / "attempt.json").read_text())
    assert (interrupted["role"], interrupted["identity"]) == ("interrupted", {"n": "0"})


def test_a_campaign_takes_its_own_history_only() -> None:
    pattern = history_pattern("demo")
    assert fnmatchcase(f"{stamp(1.5)}-demo", pattern)
    assert not fnmatchcase(f"{stamp(1.5)}-my-demo", pattern)
    assert not fnmatchcase(f"{stamp(1.5)}-demo-2", pattern)


def test_host_files_move_aside_and_stay(packet: Packet, tmp_path: Path) -> None:
    for run, text in (("a", "first"), ("b", "second")):
        extracted = tmp_path / run
        (extracted / run).mkdir(parents=True)
        (extracted / run / "journal.jsonl").write_text(text)
        (extracted / run / "heartbeat").write_text("")
        packet.place_host_files(extracted, run)
    assert (packet.folder / "journal.jsonl").read_text() == "second"
    assert (packet.folder / "earlier" / "before" / "journal.jsonl").read_text() == "first"
    assert not list(packet.folder.rglob("heartbeat"))
