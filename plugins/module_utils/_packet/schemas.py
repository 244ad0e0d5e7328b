# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which file of a packet is of which schema, and what a lane has to have by its outcome."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._words.errors import EvidenceError
from .folder import PacketFolder
from .problem import Problem

#: File name -> schema's name, where they differ.
OTHER_NAMES = {"state-before": "state", "state-after": "state"}
NUMBERED = re.compile(r"(capacity|burst|control)-.+")
KNOWN = {
    f"tandem.{name}/v1"
    for name in (
        "attempt", "burst", "campaign", "capacity", "container", "contract", "control", "controls", "endpoint", "engine", "final-state", "fit",
        "functional", "host", "image", "live", "models", "nccl", "plan", "protocols", "quality", "recipe", "reservation", "restored", "snapshot",
        "sources", "state", "state-diff", "superseded", "topology", "unload", "unresolved", "verdict",
    )
}  # fmt: skip
#: JSON lines -> the schema of each line; the journal has sums of its own and no schema in its lines.
LINE_SCHEMAS = {
    "rows.jsonl": ("tandem.rows/v1", "tandem.row/v1"),
    "timeline.jsonl": ("tandem.timeline/v1",),
    "isolation.jsonl": ("tandem.intrusion/v1",),
    "telemetry.jsonl": ("tandem.telemetry/v1", "tandem.telemetry-sample/v1"),
}
HOST_MEMBERS = ("verdict.json", "campaign.json", "host.json")
#: What was taken has to be given back, with both looks at the host.
TAKEN_MEMBERS = (
    "journal.jsonl",
    "reservation.json",
    "state-before.json",
    "state-after.json",
    "state-diff.json",
    "final-state.json",
)
LANE_MEMBERS = ("attempt.json", "verdict.json", "protocols.json")
RECIPE_MEMBERS = (
    "recipe.json",
    "contract.json",
    "snapshot.json",
    "image.json",
    "nccl.json",
    "topology.json",
    "sources.json",
    "fit.json",
)
GATED_MEMBERS = ("functional.json", "rows.jsonl")
LOADED_MEMBERS = ("plan.json", "live.json", "engine.json", "models.json", "startup.log")


def schema_problems(packet: PacketFolder) -> Iterator[Problem]:
    """Files that can't be parsed, and documents of no kind or version that is known here."""
    for path in packet.evidence:
        try:
            if path.endswith(".json"):
                yield from _document(path, packet.document(path).get("schema"))
            elif path.endswith(".jsonl"):
                yield from _lines(packet, path)
            else:
                packet.data(path)
        except EvidenceError as exc:
            yield Problem("file", path, str(exc))


def _document(path: str, schema: object) -> Iterator[Problem]:
    name = path.rsplit("/", 1)[-1].removesuffix(".json")
    numbered = NUMBERED.fullmatch(name)
    named = "container" if name.endswith(".container") else OTHER_NAMES.get(name, name)
    wanted = f"tandem.{numbered[1] if numbered else named}/v1"
    if schema not in KNOWN:
        yield Problem("schema", path, f"schema {schema!r} is none that this version knows")
    elif schema != wanted:
        yield Problem("schema", path, f"schema is {schema!r}, a file of this name has {wanted!r}")


def _lines(packet: PacketFolder, path: str) -> Iterator[Problem]:
    name = path.rsplit("/", 1)[-1]
    schemas = LINE_SCHEMAS.get(name)
    for number, line in enumerate(packet.lines(path), start=1):
        wanted = schemas and schemas[min(number, len(schemas)) - 1]
        if wanted and line.get("schema") != wanted:
            yield Problem("schema", path, f"line {number} has schema {line.get('schema')!r}, {wanted!r} is wanted")
            return


def missing_members(packet: PacketFolder, folder: str, names: tuple[str, ...], why: str) -> Iterator[Problem]:
    """Those of ``names`` that ``folder`` lacks."""
    for name in names:
        if f"{folder}{name}" not in packet.evidence:
            yield Problem("member", f"{folder}{name}", f"is missing: {why}")
