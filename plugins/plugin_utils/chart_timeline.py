# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture of the campaign by its stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils._gates.energy import unix_time
from .blocks import Chart
from .chart_lanes import lanes_on_y, legend_above
from .figure import MUTED, colour_of, drawn, label
from .packet_lines import lines_of

#: Stage -> colour; what happens to the host is grey, and none is red: nothing here is good or bad.
STAGES = {
    "mode": MUTED,
    "probe": colour_of(6),
    "load": colour_of(4),
    "functional": colour_of(0),
    "quality": colour_of(3),
    "capacity": colour_of(2),
    "burst": colour_of(1),
    "restore": colour_of(7),
}


@dataclass(frozen=True)
class Span:
    """A stage of a lane, or of the host where ``row`` is empty; Unix times."""

    row: str
    stage: str
    began: float
    ended: float


def timeline_chart(packet: Path) -> Iterator[Chart]:
    """The campaign by its stages: a line for the host, one for each lane."""
    spans = spans_of(packet)
    if not spans:
        return
    start, rows = min(span.began for span in spans), list(dict.fromkeys(span.row for span in spans))
    stages = [stage for stage in STAGES if any(span.stage == stage for span in spans)]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for span in spans:
            width = max(span.ended - span.began, (spans[-1].ended - start) / 500)
            axes.barh(
                rows.index(span.row),
                width,
                left=span.began - start,
                height=0.6,
                color=STAGES[span.stage],
            )
        for stage in stages:
            axes.barh([0], [0], color=STAGES[stage], label=stage)
        lanes_on_y(axes, [label(row) or "host" for row in rows])
        axes.set_xlim(left=0)
        axes.set_xlabel("seconds since the host was taken")
        legend_above(figure, 8)

    told = ", ".join(
        f"{stage} {sum(span.ended - span.began for span in spans if span.stage == stage):.0f} s" for stage in stages
    )
    yield drawn("timeline", "The campaign's stages", told, 0.95 + 0.34 * len(rows), draw)


def spans_of(packet: Path) -> list[Span]:
    """Stages of the newest run in their order. A stage ends with its last event; one that comes behind another ends where that begins."""
    journal = [(unix_time(one["at"]), str(one["step"])) for one in lines_of(packet / "journal.jsonl") if "at" in one]
    spans = [*_host_spans(journal)]
    taken = next((t for t, step in journal if step == "enter"), 0.0)
    lines = (one for one in lines_of(packet / "timeline.jsonl") if one.get("t", -1.0) >= taken)
    events = [(float(one["t"]), str(one.get("recipe") or ""), str(one.get("stage"))) for one in lines]
    # Checks inside a gate are told under their own names; they belong to the gate that is under way.
    major: list[tuple[float, str, str]] = []
    for t, recipe, stage in events:
        if stage in STAGES:
            major.append((t, recipe, stage))
        elif major and major[-1][1] == recipe:
            major.append((t, recipe, major[-1][2]))
    groups: list[tuple[str, str, float, float]] = []
    for t, recipe, stage in (one for one in major if one[2] not in ("mode", "restore")):
        if groups and groups[-1][:2] == (recipe, stage):
            groups[-1] = (*groups[-1][:3], t)
        else:
            groups.append((recipe, stage, t, t))
    for at, (recipe, stage, began, ended) in enumerate(groups):
        behind = groups[at + 1] if at + 1 < len(groups) else None
        spans.append(Span(recipe, stage, began, behind[2] if behind and behind[0] == recipe else ended))
    return spans


def _host_spans(journal: Sequence[tuple[float, str]]) -> Iterator[Span]:
    """Taking the host, and giving it back, by the journal's (Unix time, step)."""
    moments = {step: t for t, step in reversed(journal)}
    if "enter" in moments and "committed" in moments:
        yield Span("", "mode", moments["enter"], moments["committed"])
    if "restored" in moments:
        began = next((t for t, step in journal if step.startswith("undo:")), moments["restored"])
        yield Span("", "restore", began, moments["restored"])
