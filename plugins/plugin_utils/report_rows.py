# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every request of a lane, to be looked at: closed until somebody opens it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .blocks import Fold, Raw
from .packet_lines import lines_of

#: A page with more requests than this is slow on a phone; the file has them all.
MOST_ROWS = 400


def requests_fold(packet: Path, recipe: str, *, raw: bool) -> Iterator[Fold]:
    """One fold a lane with one inside it for each request; with ``raw`` false only the pointer to the file is left."""
    path = f"lanes/{recipe}/rows.jsonl"
    if not (packet / path).is_file():
        return
    if not raw:
        yield Fold(f"Requests and answers of {recipe}: {path}", (), path)
        return
    rows = [row for row in lines_of(packet / path) if "reply" in row]
    shown = tuple(Fold(told(row), (Raw(pretty(row)),), "") for row in rows[:MOST_ROWS])
    more = f", the first {MOST_ROWS}; all in {path}" if len(rows) > MOST_ROWS else ""
    yield Fold(f"Requests and answers of {recipe} ({len(rows)}{more})", shown, path)


def told(row: Mapping[str, Any]) -> str:
    """One request in a line."""
    reply = row["reply"]
    moments = ((name, reply.get(f"{key}_ns")) for name, key in (("first output", "first_output"), ("end", "end")))
    times = [f"{name} {ns / 1e9:.3f} s" for name, ns in moments if ns is not None]
    tokens = f"{reply.get('prompt_tokens') or '?'} + {reply.get('completion_tokens') or '?'} tokens"
    end = reply.get("error_class") or reply.get("finish_reason") or "no finish reason"
    warm = ", warm-up" if row.get("warmup") else ""
    return f"{row['index']} {row['profile']}, {row['check']}{warm}: {end}, {tokens}, {', '.join(times)}"


def pretty(row: Mapping[str, Any]) -> str:
    """Request and answer as JSON; the gaps between deltas are a picture's, not a reader's."""
    reply = {name: value for name, value in row["reply"].items() if value is not None and name != "gaps_us"}
    shown = {
        "sent_at": row["sent_at"],
        "request_sha256": row["request_sha256"],
        "request": row["request"],
        "reply": reply,
    }
    return json.dumps(shown, ensure_ascii=False, indent=1)
