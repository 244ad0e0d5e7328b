# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The finding as Markdown, from a packet alone. Derived: it can be thrown away and made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .markdown import cell, markdown_table
from .outcome_table import HEADER, SIMULATED, outcome_rows
from .report_capacity import burst_section, capacity_section
from .report_research import research_table
from .report_start import image_table, start_tables
from .state_table import SERVICE_HEADER, owners_text, service_rows


def markdown_report(packet: Path) -> str:
    """The whole report. Text from engines and models is escaped and bounded."""
    verdict: dict[str, Any] = read_json(packet / "verdict.json")
    lanes = verdict["lanes"]
    parts = [
        f"# Campaign {cell(verdict['campaign'])} on {cell(verdict['host'])}",
        f"**{verdict['outcome']}**: {cell(verdict['reason'])}",
        *([f"**{SIMULATED}**"] if verdict["simulated"] else []),
        _facts(verdict),
        "## Outcome",
        markdown_table(HEADER, outcome_rows(lanes)),
        *_controls(packet),
        "## Capacity",
        *capacity_section(packet, lanes),
        *burst_section(packet, lanes),
        "## Lanes",
        *(_lane(packet, lane) for lane in lanes),
        "## Final state",
        _restore(verdict["restore"]),
        *_final_state(packet),
        "## Decision boundary",
        "These results say whether the pinned model in the pinned engine works on this host, how fast and how well, under the protocols named. "
        "They are no ranking of models and no promotion of any: nothing on the host was changed but for the time of the campaign.",
    ]
    return "\n\n".join(parts) + "\n"


def _facts(verdict: Mapping[str, Any]) -> str:
    identity = verdict["identity"]
    collection = identity["collection"]
    simulated = "yes: not a measurement" if verdict["simulated"] else "no"
    rows = [
        ("started", identity["started_at"]),
        ("collection", f"tandem.campaign {collection['version']} ({collection['revision'] or 'no git revision'})"),
        ("simulated", simulated),
        ("promotion", verdict["promotion"]),
    ]
    return markdown_table(("", ""), rows)


def _controls(packet: Path) -> Iterator[str]:
    """That the gates were shown to fail on this host, where it was asked for."""
    if not (packet / "controls.json").is_file():
        return
    document = read_json(packet / "controls.json")
    protocols = ", ".join(dict.fromkeys(str(row["protocol"]) for row in document["controls"]))
    when = document["identity"]["started_at"]
    yield (
        f"Gates shown to fail on this host ({cell(when)}; {cell(protocols)}): **{document['verdict']}**, {cell(document['reason'])}."
    )


def _lane(packet: Path, lane: Mapping[str, Any]) -> str:
    lines = [f"### {cell(lane['recipe'])}", f"{lane['outcome']}: {cell(lane['reason'])}"]
    control = lane.get("control")
    if control:
        lines.append(f"Negative control, expected {control['expect']}: {'caught' if control['met'] else 'NOT CAUGHT'}.")
    folder = packet / "lanes" / lane["recipe"]
    lines += list(_pins(folder))
    lines += [markdown_table(*table) for table in (*image_table(folder), *start_tables(folder))]
    for table in research_table(folder, lane):
        lines += ["What its decisions rested on, and what was measured here in their place:", markdown_table(*table)]
    rows = [
        (profile["name"], gate["protocol"], check["name"], check["level"], check["verdict"], check["reason"])
        for profile in lane["profiles"]
        for gate in profile["gates"]
        for check in (gate["checks"] or [{"name": "", "level": "required" if gate["required"] else "advisory", **gate}])
    ]
    if rows:
        lines.append(markdown_table(("profile", "protocol", "check", "level", "verdict", "reason"), rows))
    if lane["caveats"]:
        lines.append(
            "Caveats:\n\n" + "\n".join(f"- **{cell(item['id'])}**: {cell(item['text'])}" for item in lane["caveats"])
        )
    return "\n\n".join(lines)


def _pins(folder: Path) -> Iterator[str]:
    if (folder / "endpoint.json").is_file():
        yield endpoint_table(read_json(folder / "endpoint.json"))
    if not (folder / "recipe.json").is_file():
        return
    recipe = read_json(folder / "recipe.json")["recipe"]
    model, engine = recipe["model"], recipe["engine"]
    derived = engine["derived"]
    build = engine["image"] or engine["lock"] or f"{derived['base']} + {derived['patch_set']}"
    yield markdown_table(
        ("model", "revision", "engine", "build", "context"),
        [
            (
                model["repo"],
                model["revision"],
                f"{engine['kind']} {engine['version']}",
                build,
                str(recipe["limits"]["context_tokens"]),
            )
        ],
    )


def endpoint_table(document: Mapping[str, Any]) -> str:
    """What answered at an address that somebody else serves."""
    found, version = document["endpoint"], document["identity"]["engine_version"]
    engine = f"{found['engine']} {version or 'of a version that it does not tell'}"
    return markdown_table(
        ("address", "model", "engine, as it says", "context"),
        [(found["url"], found["model"], engine, str(found["context_tokens"]))],
    )


def _restore(restore: Mapping[str, Any]) -> str:
    count = restore["diff_count"]
    return f"Restore {restore['verdict']}: {cell(restore['reason'])}. Differences to the state before: {'not computed' if count is None else count}."


def _final_state(packet: Path) -> Iterator[str]:
    """What runs on the host now, as the independent reader saw it; nothing where no host was taken."""
    if not (packet / "final-state.json").is_file():
        return
    final = read_json(packet / "final-state.json")
    resolved = "; ".join(final["unresolved"]) or "none"
    yield markdown_table(
        ("mode", "owners of the GPU roles", "unresolved", "blocked workloads"),
        [(final["mode"], owners_text(final), resolved, ", ".join(final["blocked_workloads"]) or "none")],
    )
    if rows := service_rows(final):
        yield markdown_table(SERVICE_HEADER, rows)
