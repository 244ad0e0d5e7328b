# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exchange -> reply: server-sent events and whole bodies in one shape. Pure; what a server says is data, never trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._words.events import ErrorClass, Reply, StreamEvent
from .client import Exchange

REASONING_FIELDS = ("reasoning_content", "reasoning")


def read_reply(exchange: Exchange, *, streamed: bool) -> Reply:
    """The reply of a chat completion. A fault, an HTTP error or a body that can't be read is a reply with its error class."""
    fault = exchange.fault
    if fault is None and exchange.status != 200:
        text = exchange.body[:2000].decode("utf-8", "replace")
        return Reply(
            exchange.status, exchange.end_ns, error_class="http_status", error=f"HTTP {exchange.status}: {text}"
        )
    events = list(stream_events(exchange)) if streamed else list(body_events(exchange))
    return assemble(events, exchange)


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
    for choice in (document.get("choices") or [])[:1]:
        delta = choice.get(part) or {}
        for name in REASONING_FIELDS:
            if delta.get(name):
                yield StreamEvent(at_ns, "reasoning", delta[name], {"field": name})
                break
        if delta.get("content"):
            yield StreamEvent(at_ns, "content", delta["content"])
        for position, call in enumerate(delta.get("tool_calls") or []):
            yield StreamEvent(at_ns, "tool", data={"index": call.get("index", position), **call})
        if choice.get("finish_reason"):
            yield StreamEvent(at_ns, "finish", choice["finish_reason"])
    if isinstance(document.get("usage"), dict):
        yield StreamEvent(at_ns, "usage", data=document["usage"])


def assemble(events: list[StreamEvent], exchange: Exchange) -> Reply:
    """Puts the events together: texts, moments, tool calls joined by index, token counts from ``usage`` only."""
    by_kind: dict[str, list[StreamEvent]] = {}
    for event in events:
        by_kind.setdefault(event.kind, []).append(event)
    outputs = [event for event in events if event.kind in ("reasoning", "content", "tool")]
    visible = by_kind.get("content", [])
    reasoning = by_kind.get("reasoning", [])
    usage = by_kind["usage"][-1].data if "usage" in by_kind else {}
    content = "".join(event.text for event in visible)
    finish = by_kind["finish"][-1].text if "finish" in by_kind else None
    calls = join_tool_calls(by_kind.get("tool", []))
    error_class, error = _error(exchange, by_kind, content, calls, bool(reasoning), finish)
    return Reply(
        status=exchange.status,
        end_ns=exchange.end_ns,
        content=content,
        reasoning="".join(event.text for event in reasoning),
        reasoning_field=reasoning[0].data["field"] if reasoning else None,
        tool_calls=calls,
        finish_reason=finish,
        model=next((event.data["model"] for event in by_kind.get("role", [])), None),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(usage, "reasoning_tokens")
        or _count(usage.get("completion_tokens_details") or {}, "reasoning_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details") or {}, "cached_tokens"),
        first_output_ns=outputs[0].at_ns if outputs else None,
        first_visible_ns=visible[0].at_ns if visible else None,
        last_output_ns=outputs[-1].at_ns if outputs else None,
        done_marker="done" in by_kind,
        chunks=len(outputs),
        error_class=error_class,
        error=error,
    )


def join_tool_calls(events: list[StreamEvent]) -> tuple[dict[str, Any], ...]:
    """Fragments keyed by index: id and name once, ``arguments`` joined. ``ids`` counts how often an id was given."""
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        call = calls.setdefault(int(event.data["index"]), {"id": None, "name": None, "arguments": "", "ids": 0})
        function = event.data.get("function") or {}
        if event.data.get("id"):
            call["id"], call["ids"] = event.data["id"], call["ids"] + 1
        call["name"] = call["name"] or function.get("name")
        call["arguments"] += function.get("arguments") or ""
    return tuple(calls[index] for index in sorted(calls))


def _error(
    exchange: Exchange,
    by_kind: dict[str, list[StreamEvent]],
    content: str,
    calls: tuple[dict[str, Any], ...],
    reasoned: bool,
    finish: str | None,
) -> tuple[ErrorClass | None, str | None]:
    if exchange.fault:
        return exchange.fault, exchange.fault_text
    if "error" in by_kind:
        event = by_kind["error"][0]
        return ("malformed" if event.data.get("malformed") else "stream_error"), event.text
    if content or calls:
        return None, None
    if reasoned and finish == "length":
        return "reasoning_exhausted", "the whole allowance went into reasoning, no visible answer came"
    return "no_visible_answer", f"no visible text and no tool call (finish reason {finish or 'none'})"


def _count(usage: dict[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
