# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables in Markdown from text that nobody vouches for."""

from __future__ import annotations

from collections.abc import Sequence

from ..module_utils._words.text import plain

#: Header and rows.
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([cell(item) for item in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str) -> str:
    """Harmless inside a Markdown table: one line, no markup of its own, no HTML."""
    safe = plain(str(text), 300).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "|`*_[]":
        safe = safe.replace(mark, f"\\{mark}")
    return safe
