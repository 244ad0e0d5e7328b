# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes -> events: server-sent events and whole bodies of chat completions. Pure; what a server says is data, never trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._words.events import StreamEvent
from .client import Exchange

REASONING_FIELDS = ("reasoning_content", "reasoning")


def stream_events(exchange: Exchange) -> Iterator[StreamEvent]:
    """Events of an SSE body, each with the instant at which its last byte had been read."""
    pending = b""
    for at_ns, piece in exchange.pieces:
        pending += piece
        while b"\n" in pending:
            line, pending = pending.split(b"\n", 1)
            yield from _line_events(at_ns, line.strip())
    if pending.strip():
        yield from _line_events(exchange.end_ns, pending.strip())


def _line_events(at_ns: int, line: bytes) -> Iterator[StreamEvent]:
    if not line.startswith(b"data:"):
        return
    data = line[5:].strip()
    if data == b"[DONE]":
        yield StreamEvent(at_ns, "done")
        return
    try:
        document = json.loads(data)
    except ValueError:
        yield StreamEvent(
            at_ns, "error", f"an event that is no JSON: {data[:200].decode('utf-8', 'replace')}", {"malformed": True}
        )
        return
    yield from _document_events(at_ns, document, "delta")


def body_events(exchange: Exchange) -> Iterator[StreamEvent]:
    """A whole chat completion as events, all at the body's end."""
    try:
        document = json.loads(exchange.body)
    except ValueError:
        yield StreamEvent(exchange.end_ns, "error", "a body that is no JSON", {"malformed": True})
        return
    yield from _document_events(exchange.end_ns, document, "message")


def _document_events(at_ns: int, document: Any, part: str) -> Iterator[StreamEvent]:
    if not isinstance(document, dict):
        yield StreamEvent(at_ns, "error", "a document that is no object", {"malformed": True})
        return
    if document.get("error"):
        yield StreamEvent(at_ns, "error", json.dumps(document["error"])[:2000])
        return
    if isinstance(document.get("model"), str):
        yield StreamEvent(at_ns, "role", data={"model": document["model"]})
    for choice in objects(document.get("choices"))[:1]:
        yield from _delta_events(at_ns, choice.get(part) or {})
        if isinstance(choice.get("finish_reason"), str):
            yield StreamEvent(at_ns, "finish", choice["finish_reason"])
    if isinstance(document.get("usage"), dict):
        yield StreamEvent(at_ns, "usage", data=document["usage"])


def _delta_events(at_ns: int, delta: Any) -> Iterator[StreamEvent]:
    if not isinstance(delta, dict):
        yield StreamEvent(at_ns, "error", "a delta that is no object", {"malformed": True})
        return
    for name in (*REASONING_FIELDS, "content"):
        if not isinstance(delta.get(name), str | None):
            yield StreamEvent(at_ns, "error", f"a {name} that is no text", {"malformed": True})
            return
    field = next((name for name in REASONING_FIELDS if delta.get(name)), None)
    if field:
        yield StreamEvent(at_ns, "reasoning", delta[field], {"field": field})
    if delta.get("content"):
        yield StreamEvent(at_ns, "content", delta["content"])
    for position, call in enumerate(objects(delta.get("tool_calls"))):
        index = call.get("index")
        yield StreamEvent(at_ns, "tool", data={**call, "index": index if isinstance(index, int) else position})


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; whatever else a server put there is not ours to read."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
