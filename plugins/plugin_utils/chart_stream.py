# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture of one request's output over time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from .blocks import Chart
from .chart_lanes import Document, Found, legend_above, series
from .figure import MOST_POINTS, colour_of, drawn
from .report_capacity import by_context

MOST_LINES = 8


def stream_chart(packet: Path, found: Found) -> Iterator[Chart]:
    """Output over time of one request a lane: the one whose first output is the lane's median."""
    replies = [(series(name, one), median_reply(packet, name, one)) for name, one in by_context(found)[0]]
    streams = [(name, reply) for name, reply in replies if reply]
    if not streams:
        return
    streams = streams[:MOST_LINES]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (name, reply) in enumerate(streams):
            times, counts = stream_points(reply)
            axes.plot(times, counts, color=colour_of(number), linewidth=1.4, label=name)
            visible = reply["first_visible_ns"]
            if visible is not None:
                at = next((at for at, t in enumerate(times) if t >= visible / 1e9), -1)
                axes.plot([visible / 1e9], [counts[at]], "o", color=colour_of(number), markersize=5)
        axes.set_xlabel("seconds from the request's first byte; the dot is the first visible output")
        axes.set_ylabel("output deltas")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid()
        legend_above(figure, 2)

    says = "; ".join(f"{name}: {_told(reply)}" for name, reply in streams)
    yield drawn("stream", "Output of one request over time", says, 2.8 + 0.11 * len(streams), draw)


def _told(reply: Document) -> str:
    first, last = reply["first_output_ns"] / 1e9, reply["last_output_ns"] / 1e9
    return f"{reply['chunks']} deltas from {first:.3f} to {last:.3f} s"


def median_reply(packet: Path, recipe: str, document: Document) -> dict[str, Any] | None:
    """The reply whose first output is the lane's median; None where its deltas' moments weren't kept."""
    wanted = document["metrics"]["first_output_s"]["p50"]
    file = packet / "lanes" / recipe / "rows.jsonl"
    if wanted is None or not file.is_file():
        return None
    check = f"capacity-{document['requested']['context_tokens']}"
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            if f'"{check}"' in line:
                row = json.loads(line)
                reply: dict[str, Any] = row["reply"]
                first = reply["first_output_ns"]
                if (
                    (row["check"], row["profile"], row["warmup"]) == (check, document["profile"], False)
                    and first is not None
                    and first / 1e9 == wanted
                ):
                    return reply if reply.get("gaps_us") else None
    return None


def stream_points(reply: Document) -> tuple[list[float], list[int]]:
    """(seconds, deltas until then), thinned to what a picture can show."""
    first = reply["first_output_ns"] / 1e9
    times = [first, *(first + us / 1e6 for us in accumulate(reply["gaps_us"]))]
    every = -(-len(times) // MOST_POINTS)
    kept = sorted({*range(0, len(times), every), len(times) - 1})
    return [times[at] for at in kept], [at + 1 for at in kept]
