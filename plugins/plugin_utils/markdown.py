# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks and tables in Markdown, from text that nobody vouches for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..module_utils._words.text import plain
from .blocks import Block, Bullets, Chart, Fold, Heading, TableBlock, Text

#: Header and rows.
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
CELL, PARAGRAPH = 300, 2000


def markdown_of(blocks: Iterable[Block]) -> str:
    """The whole text. Charts are files beside it, in ``charts/``."""
    return "\n\n".join(text for block in blocks if (text := _block(block))) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {cell(block.text)}"
    if isinstance(block, Text):
        lead = f"**{cell(block.lead)}**{block.join}" if block.lead else ""
        return lead + cell(block.text, PARAGRAPH)
    if isinstance(block, Bullets):
        lines = (
            f"- **{cell(lead)}**: {cell(text, PARAGRAPH)}" if lead else f"- {cell(text, PARAGRAPH)}"
            for lead, text in block.items
        )
        return "\n".join(lines)
    if isinstance(block, TableBlock):
        return markdown_table(block.header, block.rows)
    if isinstance(block, Chart):
        return f"![{cell(block.title)}. {cell(block.says)}](charts/{block.name}.svg)"
    if isinstance(block, Fold):
        return f"{cell(block.summary)}: `{block.file}`" if block.file else ""
    # What was sent and answered is in the packet's own files.
    return ""


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([cell(item) for item in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str, limit: int = CELL) -> str:
    """Harmless inside a Markdown table: one line, no markup of its own, no HTML."""
    safe = plain(str(text), limit).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    return safe
