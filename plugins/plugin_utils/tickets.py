# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Defect records beside the packets: one dated ticket for each way in which a lane fails, until it no longer does.

``<campaign_dir>/<campaign_id>/.tickets/<id>.json`` is the record, ``<id>.md`` what people read and write their notes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json, write_json
from .blocks import Block, Bullets, Heading, TableBlock, Text
from .changes import changes, pins_of
from .markdown import markdown_of
from .symptoms import Symptom, failed, symptom_of

FOLDER = ".tickets"
SCHEMA = "tandem.ticket/v1"
NOTES = "<!-- Notes of yours go below this line; they are kept. -->"
Document = Mapping[str, Any]


def keep_tickets(packet: Path, verdict: Document, plan: Document) -> list[Path]:
    """Opens, continues and closes the tickets of this host's lanes; the Markdown files that are new or differ.

    A lane that fails as before gets another line in its ticket; one that fails otherwise a ticket of its own; one that is
    qualified now closes what was open, with what differs to the last try that failed.
    """
    folder = packet.parent / FOLDER
    planned = {lane["name"]: lane for lane in plan["lanes"]}
    touched = []
    tried = [lane for lane in verdict["lanes"] if planned[lane["recipe"]]["stored"] is None]
    for lane in tried:
        pins = _pins(planned[lane["recipe"]])
        tickets = _tickets(folder, verdict["host"], lane["recipe"])
        for ticket in _continued(tickets, lane, pins, packet, verdict["host"], plan["attempt"]):
            ticket.setdefault("id", _unused(folder, f"{ticket['opened']}-{ticket['host']}-{ticket['recipe']}"))
            write_json(folder / f"{ticket['id']}.json", ticket)
            touched.append(_written(folder / f"{ticket['id']}.md", ticket))
    return touched


def _pins(planned: Document) -> dict[str, Any]:
    parts = {name: planned.get(name) for name in ("recipe", "contract", "topology")}
    return pins_of(planned["identity"], **parts)


def _tickets(folder: Path, host: str, recipe: str) -> list[dict[str, Any]]:
    """The lane's tickets, oldest first."""
    found = [read_json(file) for file in sorted(folder.glob("*.json"))]
    of_lane = [ticket for ticket in found if (ticket["host"], ticket["recipe"]) == (host, recipe)]
    return sorted(of_lane, key=lambda ticket: str(ticket["attempts"][0]["attempt"]))


def _continued(
    tickets: list[dict[str, Any]], lane: Document, pins: Document, packet: Path, host: str, attempt: str
) -> Iterator[dict[str, Any]]:
    """The tickets of this lane that are new or other than before."""
    unresolved = [ticket for ticket in tickets if ticket["status"] == "open"]
    told = any(item["attempt"] == attempt for ticket in tickets for item in ticket["attempts"])
    if lane["outcome"] == "not_run":
        return
    if not failed(lane):
        for ticket in unresolved:
            yield _closed(ticket, "resolved", lane["outcome"], attempt, pins)
    elif not told:
        symptom = symptom_of(packet, lane)
        same = next((ticket for ticket in unresolved if ticket["kind"] == symptom.kind), None)
        for ticket in unresolved:
            if ticket is not same:
                yield _closed(ticket, "superseded", "failed otherwise", attempt, pins)
        seen = {"attempt": attempt, "reason": symptom.text, "evidence": list(symptom.evidence)}
        yield _again(same, seen, pins) if same else _opened(lane, symptom, seen, pins, host)


def _unused(folder: Path, first: str) -> str:
    name, number = first, 1
    while (folder / f"{name}.json").exists():
        number += 1
        name = f"{first}-{number}"
    return name


def _opened(lane: Document, symptom: Symptom, seen: Document, pins: Document, host: str) -> dict[str, Any]:
    """A new one; its name is given as it is written."""
    day = f"{seen['attempt'][:4]}-{seen['attempt'][4:6]}-{seen['attempt'][6:8]}"
    return {
        "schema": SCHEMA, "host": host, "recipe": lane["recipe"], "lane_key": lane["lane_key"],
        "kind": symptom.kind, "outcome": lane["outcome"], "opened": day, "symptom": symptom.text, "diagnosis": symptom.diagnosis,
        "lines": list(symptom.lines), "attempts": [seen], "status": "open", "ended_by": None, "changes": [], "pins": pins,
    }  # fmt: skip


def _again(ticket: dict[str, Any], seen: Document, pins: Document) -> dict[str, Any]:
    """What was changed in between did not help, and stays on record."""
    return {**_changed(ticket, seen["attempt"], pins), "attempts": [*ticket["attempts"], seen]}


def _closed(ticket: dict[str, Any], status: str, what: str, attempt: str, pins: Document) -> dict[str, Any]:
    return {**_changed(ticket, attempt, pins), "status": status, "ended_by": f"{what} in attempt {attempt}"}


def _changed(ticket: dict[str, Any], attempt: str, pins: Document) -> dict[str, Any]:
    """With what differs to the try before."""
    made = [{"attempt": attempt, "change": str(change)} for change in changes(ticket["pins"], pins)]
    return {**ticket, "changes": [*ticket["changes"], *made], "pins": pins}


def _written(file: Path, ticket: Document) -> Path:
    """Renders the record anew above the line, and keeps what stands below it."""
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    notes = before.split(NOTES, 1)[1] if NOTES in before else "\n"
    file.write_text(f"{markdown_of(ticket_blocks(ticket))}\n{NOTES}{notes}", encoding="utf-8")
    return file


def ticket_blocks(ticket: Document) -> Iterator[Block]:
    """Symptom, evidence, diagnosis, change, status."""
    yield Heading(f"{ticket['recipe']} on {ticket['host']}: {ticket['outcome']}", 1)
    status = ticket["status"] if not ticket["ended_by"] else f"{ticket['status']}: {ticket['ended_by']}"
    yield Text(f"{status}. Opened {ticket['opened']}.", "Status")
    yield Heading("Symptom")
    yield Text(ticket["symptom"])
    yield Heading("Evidence")
    rows = [(seen["attempt"], seen["reason"], ", ".join(seen["evidence"])) for seen in ticket["attempts"]]
    yield TableBlock.of(("attempt", "what it said", "in the packet"), rows)
    if ticket["lines"]:
        yield Text("The log's last lines at the first attempt:")
        yield Bullets(tuple(("", line) for line in ticket["lines"]))
    yield Heading("Diagnosis")
    yield Text(ticket["diagnosis"])
    yield Heading("Change")
    if ticket["changes"]:
        yield TableBlock.of(
            ("before attempt", "what differs to the try before"),
            [(item["attempt"], item["change"]) for item in ticket["changes"]],
        )
    else:
        yield Text(_no_change(ticket))


def _no_change(ticket: Document) -> str:
    if ticket["status"] == "open":
        return "none yet: recipe, contract, host, engine and protocols are as they were"
    return "none in recipe, contract, host, engine or protocols: what ended it isn't on record"
