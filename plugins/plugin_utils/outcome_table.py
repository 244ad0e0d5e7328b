# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome table: the same rows for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..module_utils._words.text import plain

GATES = ("functional", "quality", "capacity")
#: What stands beside every table of a rehearsal.
SIMULATED = "A rehearsal: engines were played, their times are made up, and nothing here is a measurement."
HEADER = ("lane", "outcome", *GATES, "control", "caveats")


def outcome_rows(lanes: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """One row a lane: the worst verdict of each kind of gate over the profiles."""
    return [
        (
            lane["recipe"],
            lane["outcome"],
            *(_gate(lane, kind) for kind in GATES),
            "-" if not lane.get("control") else ("caught" if lane["control"]["met"] else "NOT CAUGHT"),
            str(len(lane.get("caveats") or [])),
        )
        for lane in lanes
    ]


def _gate(lane: Mapping[str, Any], kind: str) -> str:
    verdicts = [
        gate["verdict"]
        for profile in lane.get("profiles") or []
        for gate in profile["gates"]
        if gate["protocol"].split("/")[0] == kind
    ]
    for worst in ("failed", "inconclusive", "not_run", "passed"):
        if worst in verdicts:
            return worst
    return "-"


def text_table(rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> list[str]:
    """Aligned columns for a terminal; cells are made harmless."""
    table = [header, *([plain(cell, 60) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]
