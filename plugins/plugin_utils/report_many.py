# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One page over many packets: what came of each host first, then figures side by side, then a fold for each packet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .blocks import Block, Chart, Fold, Heading, TableBlock, Text
from .chart_lanes import Found
from .chart_latency import latency_chart
from .figure import can_draw, marked
from .outcome_table import SIMULATED
from .report import report_blocks
from .report_capacity import capacity_tables, timed_documents

HOSTS = ("packet", "outcome", "reason", "restore", "simulated", "started")
LANES = ("lane", "packet", "outcome", "reason")
UNLIKE = "A figure is compared with one of another packet by compare.yml alone: hardware, protocol and build have to be alike for that."


@dataclass(frozen=True)
class Source:
    """A packet with the name that it has on the page."""

    name: str
    folder: Path
    verdict: Mapping[str, Any]


def sources_of(packets: Sequence[Path]) -> list[Source]:
    """Named campaign/host, and by number where two have one name."""
    sources: list[Source] = []
    for folder in packets:
        verdict = read_json(folder / "verdict.json")
        name = f"{verdict['campaign']}/{verdict['host']}"
        twins = sum(source.name.split(" #")[0] == name for source in sources)
        sources.append(Source(f"{name} #{twins + 1}" if twins else name, folder, verdict))
    return sources


def many_blocks(sources: Sequence[Source]) -> Iterator[Block]:
    """The same tables as one packet's, with every lane under its packet's name; each packet's own report, closed."""
    yield Heading(f"{len(sources)} packets", 1)
    simulated = [source for source in sources if source.verdict["simulated"]]
    if simulated:
        yield Text("", f"{len(simulated)} of {len(sources)} packets: {SIMULATED}", "")
    yield Heading("Hosts")
    yield TableBlock.of(HOSTS, [_host_row(source) for source in sources])
    yield Heading("Lanes")
    yield TableBlock.of(LANES, [row for source in sources for row in _lane_rows(source)])
    found = [one for source in sources for one in _timed(source)]
    yield from _charts(found, bool(simulated))
    if found:
        yield Heading("Capacity")
        yield from capacity_tables(found)
        yield Text(UNLIKE)
    yield Heading("Packets")
    for source in sources:
        inside = tuple(_lower(block) for block in report_blocks(source.folder))
        yield Fold(source.name, inside, "/".join((*source.folder.parts[-2:], "report.md")))


def _charts(found: Found, simulated: bool) -> Iterator[Chart]:
    if can_draw():
        for chart in latency_chart(found):
            yield marked(chart, "simulated") if simulated else chart


def _host_row(source: Source) -> tuple[str, ...]:
    verdict = source.verdict
    return (
        source.name, verdict["outcome"], verdict["reason"], verdict["restore"]["verdict"], "yes" if verdict["simulated"] else "no",
        verdict["identity"]["started_at"],
    )  # fmt: skip


def _lane_rows(source: Source) -> Iterator[tuple[str, ...]]:
    for lane in source.verdict["lanes"]:
        yield lane["recipe"], source.name, lane["outcome"], lane["reason"]


def _timed(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for recipe, document in timed_documents(source.folder, source.verdict["lanes"]):
        yield f"{recipe} ({source.name})", document


def _lower(block: Block) -> Block:
    """A packet's title is no title of the page, and its chapters none of the page's."""
    return replace(block, level=block.level + 2) if isinstance(block, Heading) else block
