# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report consists of, before it is Markdown or HTML. All text is raw: who renders it makes it harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """``level`` 1 is the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph; ``lead`` stands before it in bold, with what joins the two (``": "``)."""

    text: str
    lead: str = ""
    join: str = ": "


@dataclass(frozen=True)
class Bullets:
    """A list of (lead, text); an empty lead is none."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TableBlock:
    """Rows of text, as they are printed."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, header: Sequence[str], rows: Sequence[Sequence[str]]) -> TableBlock:
        return cls(tuple(header), tuple(tuple(map(str, row)) for row in rows))


@dataclass(frozen=True)
class Chart:
    """A picture: ``name`` is its file's, ``says`` what a reader who can't see it has to know."""

    name: str
    title: str
    says: str
    svg: str


@dataclass(frozen=True)
class Raw:
    """What was sent or answered, as it was; in HTML alone."""

    text: str


@dataclass(frozen=True)
class Fold:
    """More than everybody wants to see: closed in HTML, left out of Markdown, where ``file`` says where it lies."""

    summary: str
    blocks: tuple[Block, ...]
    file: str


Block = Heading | Text | Bullets | TableBlock | Chart | Raw | Fold
