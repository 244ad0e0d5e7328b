# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture of prefill and decode rates against the prompt's length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .blocks import Chart
from .chart_lanes import Found, legend_above, median, series
from .figure import colour_of, drawn, marker_of

MOST_SERIES = 16
WIDE = 3.0
MOST_TOLD = 6


def rates_chart(found: Found) -> Iterator[Chart]:
    """Prefill and decode rates against the prompt's length, a line for each lane and profile; nothing where all have one length."""
    lines: dict[str, list[tuple[float, float | None, float | None]]] = {}
    for name, document in found:
        tokens = median(document, "prompt_tokens")
        if tokens is not None and median(document, "prefill_tok_s") is not None:
            point = (tokens, median(document, "prefill_tok_s"), median(document, "decode_tok_s"))
            lines.setdefault(series(name, document), []).append(point)
    if all(len(points) < 2 for points in lines.values()):
        return
    shown = dict(list(lines.items())[:MOST_SERIES])

    def draw(figure: Any) -> None:
        for axes, which, what in zip(figure.subplots(1, 2), (1, 2), ("prefill", "decode"), strict=True):
            for number, points in enumerate(shown.values()):
                _line(axes, number, [(point[0], point[which]) for point in points])
            tokens = [point[0] for points in shown.values() for point in points]
            if min(tokens) > 0 and max(tokens) / min(tokens) > WIDE:
                axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda value, _at: f"{value / 1024:g}K" if value >= 1024 else f"{value:g}")
            axes.xaxis.set_minor_formatter(lambda _value, _at: "")
            axes.yaxis.set_major_formatter(lambda value, _at: f"{value:,.0f}")
            rates = [rate for points in shown.values() for point in points if (rate := point[which]) is not None]
            axes.set_ylim(0, max(rates, default=1.0) * 1.08)
            axes.set_title(f"{what}, tok/s (median)", loc="left")
            axes.set_xlabel("prompt tokens")
            axes.grid()
            axes.set_axisbelow(True)
        for number, name in enumerate(shown):
            figure.axes[0].plot([], [], "-", marker=marker_of(number), color=colour_of(number), label=name)
        legend_above(figure, 2)

    says = "; ".join(f"{name}: {_told(points)}" for name, points in list(shown.items())[:MOST_TOLD])
    yield drawn("rates-by-context", "Prefill and decode against context", says, 2.9 + 0.11 * len(shown), draw)


def _told(points: list[tuple[float, float | None, float | None]]) -> str:
    return ", ".join(
        f"{prefill or 0:,.0f} and {'no' if decode is None else f'{decode:.1f}'} tok/s at {tokens:,.0f} tokens"
        for tokens, prefill, decode in points
    )


def _line(axes: Any, number: int, points: list[tuple[float, float | None]]) -> None:
    told = sorted((tokens, rate) for tokens, rate in points if rate is not None)
    if told:
        axes.plot(*zip(*told, strict=True), "-", marker=marker_of(number), color=colour_of(number), markersize=5)
