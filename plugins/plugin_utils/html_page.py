# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks as one HTML page that needs nothing else: styles, script and pictures are inside, and nothing else may run or be fetched."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..module_utils._words.text import plain
from .blocks import Block, Bullets, Chart, Fold, Heading, Raw, TableBlock, Text
from .figure import in_page

PARTS = Path(__file__).resolve().parents[2] / "playbooks" / "page"
CELL, PARAGRAPH, RAW = 600, 2000, 20_000
NUMBER = re.compile(r"-?[\d,]+(\.\d+)?( ?[^\s\d]{1,8})?( \(.*\))?")
WORDS = {
    **dict.fromkeys(("passed", "qualified", "qualified_with_caveats", "caught", "faster", "alike"), "good"),
    **dict.fromkeys(("failed", "rejected", "controls_failed", "slower", "regressed", "worse"), "bad"),
    **dict.fromkeys(("inconclusive", "infrastructure", "superseded", "interrupted", "undecided", "refused"), "unsure"),
    **dict.fromkeys(("not_run", "-", "none", "undeclared"), "none"),
}


def page_of(blocks: Iterable[Block], title: str) -> str:
    """The whole page. All text of the blocks is escaped here and nowhere else."""
    shown = list(blocks)
    style, script = (PARTS / name for name in ("page.css", "page.js"))
    code = script.read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">',
            f"<title>{text(title, CELL)}</title>\n<style>\n{style.read_text(encoding='utf-8')}</style>\n</head>\n<body>",
            *_rendered(shown),
            f"<script>{code}</script>\n</body>\n</html>\n",
        )
    )


def text(value: str, limit: int = PARAGRAPH) -> str:
    """Harmless in an element and in a quoted attribute: one line, bounded, escaped."""
    return html.escape(plain(value, limit))


def _rendered(blocks: Sequence[Block]) -> Iterator[str]:
    chapters = [block.text for block in blocks if isinstance(block, Heading) and block.level == 2]
    number = 0
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:
            yield f'<h2 id="c{number}">{text(block.text)}</h2>'
            number += 1
            continue
        yield _block(block)
        if isinstance(block, Heading) and block.level == 1 and chapters:
            links = (f'<a href="#c{at}">{text(name)}</a>' for at, name in enumerate(chapters))
            yield f"<nav>{' '.join(links)}</nav>"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{text(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        if not block.text:
            return f'<p class="banner">{text(block.lead)}</p>'
        lead = f'<b class="{word_class(block.lead)}">{text(block.lead)}</b>{text(block.join)} ' if block.lead else ""
        return f"<p>{lead}{text(block.text)}</p>"
    if isinstance(block, Bullets):
        items = (f"<li>{f'<b>{text(lead)}</b>: ' if lead else ''}{text(told)}</li>" for lead, told in block.items)
        return f"<ul>{''.join(items)}</ul>"
    if isinstance(block, TableBlock):
        return _table(block)
    if isinstance(block, Chart):
        picture = in_page(block.svg).replace("<svg", f'<svg role="img" aria-label="{text(block.title)}"', 1)
        return f"<figure>{picture}<figcaption><b>{text(block.title)}</b>: {text(block.says)}</figcaption></figure>"
    if isinstance(block, Raw):
        return f"<pre>{_raw(block.text)}</pre>"
    return _fold(block)


def _fold(fold: Fold) -> str:
    kind = ' class="raw"' if all(isinstance(block, Raw) for block in fold.blocks) else ""
    inside = "\n".join(map(_block, fold.blocks))
    return f"<details{kind}><summary>{text(fold.summary)}</summary>\n{inside}</details>"


def _raw(value: str) -> str:
    lines = (plain(line, RAW) for line in value[:RAW].split("\n"))
    cut = f"\n… {len(value) - RAW:,} more characters" if len(value) > RAW else ""
    return html.escape("\n".join(lines)) + cut


def _table(table: TableBlock) -> str:
    sortable = any(table.header) and len(table.rows) > 1
    head = "".join(f"<th>{text(name, CELL)}</th>" for name in table.header)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in table.rows)
    top = f"<thead><tr>{head}</tr></thead>" if any(table.header) else ""
    kind = ' class="sortable"' if sortable else ""
    return f'<div class="scroll"><table{kind}>{top}<tbody>\n{rows}</tbody></table></div>'


def _cell(value: str) -> str:
    word = word_class(value)
    kind = "number" if NUMBER.fullmatch(value) else "word" if len(value) < 24 else "long"
    classes = " ".join(filter(None, (kind, word)))
    return f'<td class="{classes}">{text(value, CELL)}</td>' if classes else f"<td>{text(value, CELL)}</td>"


def word_class(value: str) -> str:
    """The colour of a verdict or outcome; none for other text."""
    return WORDS.get(re.split(r"[\s:(]", value, maxsplit=1)[0], "")
