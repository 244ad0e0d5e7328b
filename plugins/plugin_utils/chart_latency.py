# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture of first output and first visible, with their spread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .blocks import Chart
from .chart_lanes import Document, Found, lanes_on_y, legend_above, median, series
from .figure import colour_of, drawn
from .report_capacity import by_context

#: More lines than this are no picture; the table has them all.
MOST_ROWS = 24
#: From this ratio of the largest to the least on, the axis is logarithmic.
WIDE = 20.0
MOST_TOLD = 6


def latency_chart(found: Found) -> Iterator[Chart]:
    """First output and first visible of each matched baseline, with its spread."""
    rows = [
        (name, document) for name, document in by_context(found)[0] if median(document, "first_output_s") is not None
    ]
    if not rows:
        return
    rows = rows[:MOST_ROWS]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, (_name, document) in enumerate(rows):
            for tag, colour, offset in (
                ("first_output_s", colour_of(0), -0.16),
                ("first_visible_s", colour_of(1), 0.16),
            ):
                _spread(axes, document["metrics"][tag], place + offset, colour)
        for tag, colour in (("first output", colour_of(0)), ("first visible", colour_of(1))):
            axes.plot([], [], "o", color=colour, label=tag)
        lanes_on_y(axes, [series(name, one) for name, one in rows])
        ends = [
            value
            for _name, one in rows
            for tag in ("first_output_s", "first_visible_s")
            for value in _ends(one["metrics"][tag])
        ]
        if min(ends) > 0 and max(ends) / min(ends) > WIDE:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _at: f"{value:g}")
        else:
            axes.set_xlim(left=0)
        axes.set_xlabel("seconds: median, 95 % interval (thick), range (thin)")
        legend_above(figure)

    slow = max(rows, key=lambda one: median(one[1], "first_visible_s") or 0.0)
    told = rows if len(rows) < MOST_TOLD else [slow]
    slowest = "slowest first visible: " if len(told) < len(rows) else ""
    says = slowest + "; ".join(f"{series(name, one)}: {_moments(one)}" for name, one in told)
    yield drawn("first-output", "First output and first visible", says, 1.1 + 0.42 * len(rows), draw)


def _spread(axes: Any, summary: Document, place: float, colour: str) -> None:
    if summary["p50"] is None:
        return
    axes.plot([summary["minimum"], summary["maximum"]], [place, place], "-", color=colour, linewidth=1)
    low, high = summary["p50_interval"]
    if low is not None and high is not None:
        axes.plot([low, high], [place, place], "-", color=colour, linewidth=4, alpha=0.45, solid_capstyle="butt")
    axes.plot([summary["p50"]], [place], "o", color=colour, markersize=5)


def _ends(summary: Document) -> list[float]:
    return [summary[name] for name in ("minimum", "maximum") if summary[name] is not None]


def _moments(document: Document) -> str:
    told = ((what, median(document, f"first_{what}_s")) for what in ("output", "visible"))
    return ", ".join(f"first {what} {'never' if value is None else f'{value:.3f} s'}" for what, value in told)
