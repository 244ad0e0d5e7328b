# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture of decode rates under what the memory's bandwidth allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .blocks import Chart
from .chart_lanes import Found, lanes_on_y, median, series
from .figure import INK, MUTED, colour_of, drawn
from .report_capacity import by_context
from .roofline import Roof, roof_of


def roofline_chart(packet: Path, found: Found) -> Iterator[Chart]:
    """Decode rates of the baselines beside what the memory allows; nothing where that isn't known."""
    rows: list[tuple[str, float, Roof]] = []
    for name, document in by_context(found)[0]:
        roof, rate = roof_of(packet, name), median(document, "decode_tok_s")
        if roof is not None and rate is not None:
            rows.append((series(name, document), rate, roof))
    if not rows:
        return

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, (_name, rate, roof) in enumerate(rows):
            axes.barh(place, roof.tok_s, height=0.5, color="none", edgecolor=MUTED)
            axes.barh(place, rate, height=0.5, color=colour_of(0))
            axes.text(
                roof.tok_s, place, f" {rate / roof.tok_s:.0%} of {roof.tok_s:,.0f}", va="center", color=INK, fontsize=8
            )
        lanes_on_y(axes, [name for name, _rate, _roof in rows])
        axes.set_xlim(0, max(max(roof.tok_s, rate) for _name, rate, roof in rows) * 1.2)
        axes.set_xlabel("decode rate, tok/s: measured (filled), and what the memory's bandwidth allows (frame)")

    says = "; ".join(f"{name}: {rate:.1f} of {roof.tok_s:,.0f} tok/s ({roof.rests_on})" for name, rate, roof in rows)
    yield drawn("roofline", "Decode rate against the memory's bandwidth", says, 0.9 + 0.36 * len(rows), draw)
