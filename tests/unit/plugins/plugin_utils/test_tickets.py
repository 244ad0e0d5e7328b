"""Defect records: opened, continued, superseded, resolved, with what changed in between; people's notes stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import read_json, write_json
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.plugin_utils.changes import changes, pins_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.tickets import FOLDER, NOTES, keep_tickets
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

CAUSE = {
    "cause": "duplicate-gpu",
    "meaning": "two ranks on one device",
    "action": "give each a GPU",
    "line": "Duplicate GPU detected",
}
REASON = "one: the engine exited with status 1 after 3.2 s"


def lane(outcome: str, reason: str = REASON, **other: Any) -> dict[str, Any]:
    return {
        "recipe": "one",
        "lane_key": "k",
        "outcome": outcome,
        "reason": reason,
        "caveats": [],
        "control": None,
        "profiles": [],
        **other,
    }


def gates(*missed: str) -> list[dict[str, Any]]:
    checks = [{"name": name, "level": "required", "verdict": "failed", "reason": "got <b>4</b>"} for name in missed]
    gate = {
        "protocol": "functional/v1",
        "verdict": "failed",
        "required": True,
        "reason": "checks failed",
        "checks": checks,
    }
    return [{"name": "off", "gates": [gate]}]


def plan(attempt: str, *, start_s: float = 20.0, stored: Any = None) -> dict[str, Any]:
    planned = {
        "name": "one", "stored": stored, "identity": to_document(identity()), "recipe": {"limits": {"start_s": start_s}, "args": [["--tp", "2"]]},
        "contract": {"environment": [{"name": "NCCL_DEBUG", "value": "INFO", "reason": "why"}]}, "topology": {"driver": ["1"]},
    }  # fmt: skip
    return {"lanes": [planned], "attempt": attempt}


def kept(packet: Path, result: dict[str, Any], given: dict[str, Any]) -> list[Path]:
    return keep_tickets(packet, {"host": "h", "lanes": [result]}, given)


def failed_load(packet: Path, cause: dict[str, Any] | None = None) -> dict[str, Any]:
    folder = packet / "lanes" / "one"
    write_json(
        folder / "engine.json", {"failure": {"stage": "exited", "cause": cause, "log_tail": ["first", "last | line"]}}
    )
    write_json(folder / "verdict.json", {"reason": REASON})
    return lane("infrastructure")


FIRST, SECOND, THIRD = "20261207T080000.000Z", "20261207T090000.000Z", "20261208T090000.000Z"


def test_a_failed_load_has_its_ticket(tmp_path: Path) -> None:
    (ticket,) = kept(tmp_path / "h", failed_load(tmp_path / "h", CAUSE), plan(FIRST))
    assert ticket == tmp_path / FOLDER / "2026-12-07-h-one.md"
    text = ticket.read_text()
    assert "**Status**: open. Opened 2026-12-07" in text
    assert "two ranks on one device. Way out: give each a GPU. Evidence: Duplicate GPU detected" in text
    assert "lanes/one/engine.json" in text
    assert "- last \\| line" in text
    assert text.endswith(f"{NOTES}\n")


def test_the_same_failure_again_stands_in_the_same_ticket_with_what_was_tried(tmp_path: Path) -> None:
    packet = tmp_path / "h"
    kept(packet, failed_load(packet, CAUSE), plan(FIRST))
    note = tmp_path / FOLDER / "2026-12-07-h-one.md"
    note.write_text(note.read_text() + "\nAsked the vendor.\n")
    (again,) = kept(packet, failed_load(packet, CAUSE), plan(SECOND, start_s=40.0))
    assert again == note
    assert again.read_text().endswith("Asked the vendor.\n")
    assert "| 20261207T090000.000Z | recipe.limits.start\\_s: 20.0 -&gt; 40.0 |" in again.read_text()
    record = read_json(again.with_suffix(".json"))
    assert [seen["attempt"] for seen in record["attempts"]] == [FIRST, SECOND]
    assert record["status"] == "open"


def test_another_failure_supersedes_and_success_resolves(tmp_path: Path) -> None:
    packet = tmp_path / "h"
    kept(packet, failed_load(packet, CAUSE), plan(FIRST))
    rejected = lane("rejected", "functional/v1 failed", profiles=gates("known_answer"))
    old, new = kept(packet, rejected, plan(SECOND))
    assert read_json(old.with_suffix(".json"))["ended_by"] == f"failed otherwise in attempt {SECOND}"
    assert new.name == "2026-12-07-h-one-2.md"
    assert "off, known\\_answer: got &lt;b&gt;4&lt;/b&gt;" in new.read_text()
    (closed,) = kept(packet, lane("qualified"), plan(THIRD, start_s=60.0))
    assert closed == new
    assert read_json(closed.with_suffix(".json"))["status"] == "resolved"
    assert "recipe.limits.start\\_s: 20.0 -&gt; 60.0" in closed.read_text()


def test_what_got_well_without_a_change_says_so(tmp_path: Path) -> None:
    kept(tmp_path / "h", failed_load(tmp_path / "h"), plan(FIRST))
    (closed,) = kept(tmp_path / "h", lane("qualified_with_caveats"), plan(SECOND))
    assert "none in recipe, contract, host, engine or protocols" in closed.read_text()


def test_no_ticket_for_what_is_no_defect(tmp_path: Path) -> None:
    packet = tmp_path / "h"
    caught = lane("rejected", control={"expect": "rejected", "met": True})
    for result, given in (
        (lane("qualified"), plan(FIRST)),
        (lane("not_run"), plan(FIRST)),
        (caught, plan(FIRST)),
        (lane("rejected"), plan(FIRST, stored={})),
    ):
        assert kept(packet, result, given) == []
    assert not (tmp_path / FOLDER).exists()


def test_a_control_that_was_not_caught_has_one(tmp_path: Path) -> None:
    loose = lane("qualified", "every required gate passed", control={"expect": "rejected", "met": False})
    assert len(kept(tmp_path / "h", loose, plan(FIRST))) == 1


def test_a_repeated_judgement_of_one_attempt_is_one_entry(tmp_path: Path) -> None:
    packet = tmp_path / "h"
    kept(packet, failed_load(packet), plan(FIRST))
    assert kept(packet, failed_load(packet), plan(FIRST)) == []


def test_figures_in_a_reason_make_no_other_failure(tmp_path: Path) -> None:
    packet = tmp_path / "h"
    kept(packet, lane("infrastructure", "port 39050 is in use after 3 s"), plan(FIRST))
    (same,) = kept(packet, lane("infrastructure", "port 39051 is in use after 12 s"), plan(SECOND))
    assert same.name == "2026-12-07-h-one.md"


def test_another_hosts_ticket_is_left_alone(tmp_path: Path) -> None:
    kept(tmp_path / "h", failed_load(tmp_path / "h"), plan(FIRST))
    assert keep_tickets(tmp_path / "i", {"host": "i", "lanes": [lane("qualified")]}, plan(SECOND)) == []


def test_changes_name_members_and_leave_words_out() -> None:
    base = to_document(identity())
    before = pins_of(
        base,
        contract={"environment": [{"name": "A", "value": "1", "reason": "x"}]},
        recipe={"args": [["--tp", "2"], ["--fast"]]},
        topology=None,
    )
    after = pins_of(
        base,
        contract={"environment": [{"name": "A", "value": "2", "reason": "y"}]},
        recipe={"args": [["--tp", "2"]]},
        topology={"driver": ["1"]},
    )
    assert [str(change) for change in changes(before, after)] == [
        "contract.environment.A.value: 1 -> 2",
        "recipe.args.--fast: given -> absent",
    ]
