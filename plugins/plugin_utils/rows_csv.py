# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every request of a packet as a line of CSV: what was asked of whom, when, what came back and when. No text of a model."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from ..module_utils._words.text import plain
from .packet_lines import lines_of

COLUMNS = (
    "lane", "profile", "protocol", "check", "index", "warmup", "sent_at", "status", "error_class", "finish_reason", "prompt_tokens",
    "completion_tokens", "reasoning_tokens", "cached_tokens", "chunks", "first_output_s", "first_visible_s", "last_output_s", "end_s", "request_sha256",
)  # fmt: skip
MOMENTS = ("first_output", "first_visible", "last_output", "end")
COUNTS = (
    "status",
    "error_class",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "chunks",
)
#: A spreadsheet takes a cell that begins so for a formula; some of these words are a server's.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows_csv(packet: Path) -> str:
    """With a header; times in seconds from the request's first byte, as many places as were measured."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for lane in read_json(packet / "verdict.json")["lanes"]:
        for row in lines_of(packet / "lanes" / lane["recipe"] / "rows.jsonl"):
            if "reply" in row:
                writer.writerow({"lane": lane["recipe"], **dict(_cells(row))})
    return stream.getvalue()


def _cells(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    reply = row["reply"]
    for name in ("profile", "protocol", "check", "index", "warmup", "sent_at", "request_sha256"):
        yield name, _cell(row[name])
    for name in COUNTS:
        yield name, _cell(reply.get(name))
    for name in MOMENTS:
        moment = reply.get(f"{name}_ns")
        yield f"{name}_s", None if moment is None else f"{moment / 1e9:.9f}"


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = plain(value, 200)
    return f"'{text}" if text.startswith(FORMULA) else text
