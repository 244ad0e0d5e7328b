# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as files: Markdown, pictures beside it, one HTML page. All derived; they can be thrown away and made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from ..module_utils._words.errors import EvidenceError
from .blocks import Block, Chart
from .charts import chart_files, packet_charts
from .exports import EXPORTS, export_files
from .html_page import page_of
from .markdown import markdown_of
from .report import report_blocks
from .report_many import many_blocks, sources_of

#: Format -> the file that is looked at first.
FILES = {"markdown": "report.md", "html": "report.html"}
FORMATS = tuple(FILES)
ALL_FORMATS = (*FORMATS, *EXPORTS)


def report_files(packet: Path, formats: Sequence[str] = FORMATS, *, raw: bool = True) -> dict[str, str]:
    """Path below the packet -> text, with ``report.md`` or ``report.html`` first, then exports. Text from engines and models is escaped and bounded.

    ``raw``: the page has every request and answer inside. Raises :class:`EvidenceError` where there is no verdict to report.
    """
    verdict = _verdict(packet)
    exports = export_files(packet, formats)
    if not set(formats) & set(FORMATS):
        return exports
    charts = tuple(packet_charts(packet, verdict["lanes"], simulated=verdict["simulated"]))
    title = f"{verdict['campaign']} on {verdict['host']}"
    return {**_files(formats, title, charts, lambda raw: report_blocks(packet, charts, raw=raw), raw=raw), **exports}


def many_report_files(packets: Sequence[Path], formats: Sequence[str] = FORMATS) -> dict[str, str]:
    """The same for one page over many packets."""
    for packet in packets:
        _verdict(packet)
    return block_files(tuple(many_blocks(sources_of(packets))), f"{len(packets)} packets", formats, "report")


def block_files(blocks: Sequence[Block], title: str, formats: Sequence[str], name: str) -> dict[str, str]:
    """``<name>.md`` with its pictures, and ``<name>.html``, of blocks that are the same in both."""
    charts = [block for block in blocks if isinstance(block, Chart)]
    return _files(formats, title, charts, lambda _raw: blocks, raw=False, name=name)


def _files(
    formats: Sequence[str],
    title: str,
    charts: Sequence[Chart],
    blocks: Callable[[bool], Iterable[Block]],
    *,
    raw: bool,
    name: str = "report",
) -> dict[str, str]:
    files = {}
    if "markdown" in formats:
        files[f"{name}.md"] = markdown_of(blocks(False))
        files.update(chart_files(charts))
    if "html" in formats:
        files[f"{name}.html"] = page_of(blocks(raw), title)
    return files


def _verdict(packet: Path) -> dict[str, Any]:
    file = packet / "verdict.json"
    if not file.is_file():
        raise EvidenceError(f"{packet} has no verdict.json: name a packet's folder, campaigns/<campaign>/<host>")
    verdict: dict[str, Any] = read_json(file)
    return verdict
