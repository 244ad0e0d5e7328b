# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of the cards' power over each lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..module_utils._gates.energy import unix_time
from ..module_utils._gates.metrics import nearest_rank
from .blocks import Chart
from .chart_lanes import Document, Found, legend_above
from .figure import MOST_POINTS, MUTED, colour_of, drawn, label
from .packet_lines import lines_of


def power_charts(packet: Path, lanes: Iterable[Document], found: Found) -> Iterator[Chart]:
    """The cards' power over each lane's gates; what was timed is shaded. Nothing where no card was sampled."""
    for lane in lanes:
        file = packet / "lanes" / lane["recipe"] / "telemetry.jsonl"
        samples = [one for one in lines_of(file) if one.get("power_w") is not None]
        if samples:
            timed = [(unix_time(one["began_at"]), one["wall_s"]) for name, one in found if name == lane["recipe"]]
            yield _power_chart(lane["recipe"], samples, timed)


def _power_chart(recipe: str, samples: Sequence[Document], timed: Sequence[tuple[float, float]]) -> Chart:
    start, roles = samples[0]["t"], list(dict.fromkeys(str(one["role"]) for one in samples))
    most = max(one["power_w"] for one in samples)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for began, wall in timed:
            axes.axvspan(began - start, began - start + wall, color=MUTED, alpha=0.18, linewidth=0)
        for number, role in enumerate(roles):
            points = [(one["t"] - start, one["power_w"]) for one in samples if one["role"] == role]
            axes.plot(
                *zip(*thinned(points), strict=True), color=colour_of(number), linewidth=1.2, label=label(role, 30)
            )
        axes.set_xlabel("seconds; shaded is what was timed")
        axes.set_ylabel("W")
        axes.set_ylim(bottom=0)
        axes.grid()
        legend_above(figure)

    by_role = {role: [one["power_w"] for one in samples if one["role"] == role] for role in roles}
    medians = ", ".join(f"{role} {nearest_rank(watts, 50):.0f} W" for role, watts in by_role.items())
    return drawn(f"power-{recipe}", f"Power over {recipe}", f"median {medians}; most {most:.0f} W", 2.3, draw)


def thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """The largest of each step: peaks stay."""
    every = -(-len(points) // MOST_POINTS)
    return [max(points[at : at + every], key=lambda point: point[1]) for at in range(0, len(points), every)]
