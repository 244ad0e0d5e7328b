# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All pictures of a packet, in the order in which people look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .blocks import Chart
from .chart_latency import latency_chart
from .chart_power import power_charts
from .chart_rates import rates_chart
from .chart_roofline import roofline_chart
from .chart_stream import stream_chart
from .chart_timeline import timeline_chart
from .figure import as_file, can_draw, marked
from .report_capacity import timed_documents

FOLDER = "charts"


def packet_charts(packet: Path, lanes: Sequence[Mapping[str, Any]], *, simulated: bool) -> Iterator[Chart]:
    """What can be drawn from this packet; nothing where the plotting library is missing."""
    if can_draw():
        for chart in _charts(packet, lanes):
            yield marked(chart, "simulated") if simulated else chart


def _charts(packet: Path, lanes: Sequence[Mapping[str, Any]]) -> Iterator[Chart]:
    found = timed_documents(packet, lanes)
    yield from latency_chart(found)
    yield from rates_chart(found)
    yield from roofline_chart(packet, found)
    yield from stream_chart(packet, found)
    yield from power_charts(packet, lanes, found)
    yield from timeline_chart(packet)


def chart_files(charts: Sequence[Chart]) -> dict[str, str]:
    """Path below the packet -> SVG."""
    return {f"{FOLDER}/{chart.name}.svg": as_file(chart.svg) for chart in charts}
