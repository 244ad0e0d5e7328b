# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The finding, from a packet alone. Derived: it can be thrown away and made again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .blocks import Block, Bullets, Chart, Heading, TableBlock, Text
from .markdown import markdown_of
from .outcome_table import HEADER, SIMULATED, outcome_rows
from .report_capacity import burst_section, capacity_section
from .report_hardware import hardware_section, pinned_section
from .report_research import research_table
from .report_rows import requests_fold
from .report_start import image_table, start_tables
from .state_table import SERVICE_HEADER, owners_text, service_rows

Document = Mapping[str, Any]
BOUNDARY = (
    "These results say whether the pinned model in the pinned engine works on this host, how fast and how well, under the protocols named. "
    "They are no ranking of models and no promotion of any: nothing on the host was changed but for the time of the campaign."
)


def markdown_report(packet: Path, charts: Iterable[Chart] = ()) -> str:
    """The whole report. Text from engines and models is escaped and bounded."""
    return markdown_of(report_blocks(packet, charts))


def report_blocks(packet: Path, charts: Iterable[Chart] = (), *, raw: bool = False) -> Iterator[Block]:
    """What came of it first, then pictures, then everything it rests on; with ``raw`` every request and answer."""
    verdict: dict[str, Any] = read_json(packet / "verdict.json")
    lanes = verdict["lanes"]
    yield Heading(f"Campaign {verdict['campaign']} on {verdict['host']}", 1)
    yield Text(verdict["reason"], verdict["outcome"])
    if verdict["simulated"]:
        yield Text("", SIMULATED, "")
    yield _facts(verdict)
    yield Heading("Outcome")
    yield TableBlock.of(HEADER, outcome_rows(lanes))
    yield from _controls(packet)
    yield from charts
    yield from hardware_section(packet)
    yield from pinned_section(packet, lanes)
    yield from functional_section(lanes)
    yield Heading("Capacity")
    yield from capacity_section(packet, lanes)
    yield from burst_section(packet, lanes)
    yield Heading("Lanes")
    for lane in lanes:
        yield from _lane(packet, lane)
        yield from requests_fold(packet, lane["recipe"], raw=raw)
    yield from troubleshooting_section(packet, lanes)
    yield Heading("Final state")
    yield _restore(verdict["restore"])
    yield from _final_state(packet)
    yield Heading("Decision boundary")
    yield Text(BOUNDARY)


def _facts(verdict: Document) -> TableBlock:
    identity = verdict["identity"]
    collection = identity["collection"]
    rows = [
        ("started", identity["started_at"]),
        ("collection", f"tandem.campaign {collection['version']} ({collection['revision'] or 'no git revision'})"),
        ("simulated", "yes: not a measurement" if verdict["simulated"] else "no"),
        ("promotion", verdict["promotion"]),
    ]
    return TableBlock.of(("", ""), rows)


def _controls(packet: Path) -> Iterator[Block]:
    """That the gates were shown to fail on this host, where it was asked for."""
    if not (packet / "controls.json").is_file():
        return
    document = read_json(packet / "controls.json")
    protocols = ", ".join(dict.fromkeys(str(row["protocol"]) for row in document["controls"]))
    when = document["identity"]["started_at"]
    yield Text(
        f"{document['reason']}.", f"Gates shown to fail on this host ({when}; {protocols}): {document['verdict']}", ", "
    )


def functional_section(lanes: Iterable[Document]) -> Iterator[Block]:
    """Functional and quality gates side by side, a row a profile."""
    rows = []
    for lane in lanes:
        for profile in lane["profiles"]:
            gates = {gate["protocol"].split("/")[0]: gate for gate in reversed(profile["gates"])}
            told = [_gate_text(gates.get(kind)) for kind in ("functional", "quality")]
            rows.append((lane["recipe"], profile["name"], *told, lane["outcome"]))
    if rows:
        yield Heading("Functional and quality gates")
        yield TableBlock.of(("lane", "profile", "functional", "quality", "lane's outcome"), rows)


def _gate_text(gate: Document | None) -> str:
    return "-" if gate is None else f"{gate['verdict']} ({gate['protocol']}): {gate['reason']}"


def _lane(packet: Path, lane: Document) -> Iterator[Block]:
    yield Heading(lane["recipe"], 3)
    yield Text(f"{lane['outcome']}: {lane['reason']}")
    control = lane.get("control")
    if control:
        yield Text(f"Negative control, expected {control['expect']}: {'caught' if control['met'] else 'NOT CAUGHT'}.")
    folder = packet / "lanes" / lane["recipe"]
    if (folder / "endpoint.json").is_file():
        yield endpoint_table(read_json(folder / "endpoint.json"))
    for table in (*image_table(folder), *start_tables(folder)):
        yield TableBlock.of(*table)
    for table in research_table(folder, lane):
        yield Text("What its decisions rested on, and what was measured here in their place:")
        yield TableBlock.of(*table)
    rows = [
        (profile["name"], gate["protocol"], check["name"], check["level"], check["verdict"], check["reason"])
        for profile in lane["profiles"]
        for gate in profile["gates"]
        for check in (gate["checks"] or [{"name": "", "level": "required" if gate["required"] else "advisory", **gate}])
    ]
    if rows:
        yield TableBlock.of(("profile", "protocol", "check", "level", "verdict", "reason"), rows)
    if lane["caveats"]:
        yield Text("Caveats:")
        yield Bullets(tuple((item["id"], item["text"]) for item in lane["caveats"]))


def endpoint_table(document: Document) -> TableBlock:
    """What answered at an address that somebody else serves."""
    found, version = document["endpoint"], document["identity"]["engine_version"]
    engine = f"{found['engine']} {version or 'of a version that it does not tell'}"
    row = (found["url"], found["model"], engine, str(found["context_tokens"]))
    return TableBlock.of(("address", "model", "engine, as it says", "context"), [row])


def troubleshooting_section(packet: Path, lanes: Iterable[Document]) -> Iterator[Block]:
    """Every attempt that is none of the results, and why; nothing where there was none."""
    rows = []
    for lane in lanes:
        for file in sorted((packet / "lanes" / lane["recipe"] / "attempts").glob("*/attempt.json")):
            document = read_json(file)
            role = "superseded" if (file.parent / "superseded.json").is_file() else document["role"]
            rows.append((lane["recipe"], document["attempt"], role, document["reason"]))
    if rows:
        yield Heading("Troubleshooting")
        yield Text("Attempts that are kept and feed no table:")
        yield TableBlock.of(("lane", "attempt", "role", "reason"), rows)


def _restore(restore: Document) -> Text:
    count = restore["diff_count"]
    told = "not computed" if count is None else count
    return Text(f"Restore {restore['verdict']}: {restore['reason']}. Differences to the state before: {told}.")


def _final_state(packet: Path) -> Iterator[Block]:
    """What runs on the host now, as the independent reader saw it; nothing where no host was taken."""
    if not (packet / "final-state.json").is_file():
        return
    final = read_json(packet / "final-state.json")
    resolved = "; ".join(final["unresolved"]) or "none"
    row = (final["mode"], owners_text(final), resolved, ", ".join(final["blocked_workloads"]) or "none")
    yield TableBlock.of(("mode", "owners of the GPU roles", "unresolved", "blocked workloads"), [row])
    if rows := service_rows(final):
        yield TableBlock.of(SERVICE_HEADER, rows)
