# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture of a comparison: each figure's factor with its interval, and what is declared to be alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .blocks import Chart
from .chart_lanes import lanes_on_y
from .figure import GRID, INK, SERIES, drawn, label

#: More lines than this are no picture; the table has them all.
MOST_ROWS = 40
COLOURS = {"slower": SERIES[5], "faster": SERIES[2], "alike": SERIES[0], "undecided": SERIES[4]}
#: What says most comes first, and a request as a whole last.
SHOWN = ("first_output_s", "first_visible_s", "prefill_tok_s", "decode_tok_s", "e2e_s")
TICKS = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
#: (lane's name, its figure)
Row = tuple[str, Mapping[str, Any]]


def factors_chart(rows: Sequence[Row]) -> Iterator[Chart]:
    """A line a figure, of those with a threshold where any has one; nothing where none has a factor."""
    drawable = [(name, row) for name, row in rows if row["ratio"] and row["tag"] in SHOWN]
    declared = [(name, row) for name, row in drawable if row["threshold"] is not None]
    shown = (declared or drawable)[:MOST_ROWS]
    if not shown:
        return

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        ends = [1.0]
        for place, (_name, row) in enumerate(shown):
            ratio, threshold = row["ratio"], row["threshold"]
            colour = COLOURS.get(row["verdict"], SERIES[7])
            if threshold is not None:
                axes.plot(
                    [1 / (1 + threshold), 1 + threshold],
                    [place, place],
                    "-",
                    color=GRID,
                    linewidth=12,
                    solid_capstyle="butt",
                )
                ends += [1 / (1 + threshold), 1 + threshold]
            if ratio["low"] is not None:
                axes.plot([ratio["low"], ratio["high"]], [place, place], "-", color=colour, linewidth=2)
            axes.plot([ratio["estimate"]], [place], "o", color=colour, markersize=5)
            ends += [end for end in ratio.values() if end is not None]
        axes.axvline(1.0, color=INK, linewidth=0.8)
        lanes_on_y(axes, [told(name, row) for name, row in shown])
        axes.set_xscale("log")
        # A picture of nothing but noise must not look like one of a difference.
        axes.set_xlim(min(*ends, 0.95) / 1.02, max(*ends, 1.05) * 1.02)
        low, high = axes.get_xlim()
        axes.set_xticks([tick for tick in TICKS if low <= tick <= high])
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter(lambda value, _at: f"{value:g}")
        figure.supxlabel("after / before, with its 95 % interval; grey: declared to be alike", fontsize=9)

    telling = sorted(shown, key=lambda one: one[1]["verdict"] in ("alike", "undeclared"))
    says = "; ".join(
        f"{told(name, row)} {row['ratio']['estimate']:.3f} ({row['verdict']})" for name, row in telling[:6]
    )
    yield drawn("factors", "Factor of each median, after against before", says, 1.0 + 0.3 * len(shown), draw)


def told(name: str, row: Mapping[str, Any]) -> str:
    """A line's name: seconds are better small, rates large."""
    what = row["tag"].removesuffix("_tok_s").removesuffix("_s").replace("_", " ")
    return f"{label(name)}: {what} ({row['unit']})"
