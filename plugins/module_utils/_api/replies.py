# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exchange -> reply: streamed and whole chat completions in one shape. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from .._words.events import ErrorClass, Reply, StreamEvent
from .client import Exchange
from .sse import body_events, objects, stream_events

#: What vLLM, SGLang and llama.cpp say to a prompt that doesn't fit with its budget (0.25.1, 0.5.16, xllamacpp 2026.7: the first and the last recorded).
TOO_LONG = re.compile(
    r"maximum context length|longer than the model's context length|exceeds the available context size"
)
OUTPUT_KINDS = ("reasoning", "content", "tool")


def read_reply(exchange: Exchange, *, streamed: bool) -> Reply:
    """The reply of a chat completion. A fault, an HTTP error or a body that can't be read is a reply with its error class."""
    events = stream_events(exchange) if streamed else body_events(exchange)
    return failed_exchange(exchange) or assemble(list(events), exchange)


def failed_exchange(exchange: Exchange) -> Reply | None:
    """The reply of an exchange whose status is not 200; None where the body is to be read."""
    if exchange.fault or exchange.status == 200:
        return None
    text = exchange.body[:2000].decode("utf-8", "replace")
    kind: ErrorClass = "too_long" if exchange.status in (400, 413, 422) and TOO_LONG.search(text) else "http_status"
    return Reply(exchange.status, exchange.end_ns, error_class=kind, error=f"HTTP {exchange.status}: {text}")


def assemble(events: list[StreamEvent], exchange: Exchange) -> Reply:
    """Puts the events together: texts, moments, tool calls joined by index, token counts from ``usage`` only."""
    by_kind: dict[str, list[StreamEvent]] = {}
    for event in events:
        by_kind.setdefault(event.kind, []).append(event)
    outputs = [event for event in events if event.kind in OUTPUT_KINDS]
    visible = by_kind.get("content", [])
    reasoning = by_kind.get("reasoning", [])
    usage = by_kind["usage"][-1].data if "usage" in by_kind else {}
    reasons = [event.text for event in by_kind.get("finish", [])]
    sizes = [_size(event) for event in outputs]
    reply = Reply(
        status=exchange.status,
        end_ns=exchange.end_ns,
        content="".join(event.text for event in visible),
        reasoning="".join(event.text for event in reasoning),
        reasoning_field=reasoning[0].data["field"] if reasoning else None,
        tool_calls=join_tool_calls(by_kind.get("tool", [])),
        finish_reason=next((reason for reason in reversed(reasons) if reason), None),
        model=next((event.data["model"] for event in by_kind.get("role", [])), None),
        prompt_tokens=count_of(usage, "prompt_tokens"),
        completion_tokens=count_of(usage, "completion_tokens"),
        reasoning_tokens=count_of(usage, "reasoning_tokens")
        or count_of(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cached_tokens=count_of(usage.get("prompt_tokens_details"), "cached_tokens"),
        first_output_ns=outputs[0].at_ns if outputs else None,
        first_visible_ns=visible[0].at_ns if visible else None,
        last_output_ns=outputs[-1].at_ns if outputs else None,
        done_marker="done" in by_kind,
        chunks=len(outputs),
        gaps_us=gaps_us([event.at_ns for event in outputs]),
        tokens_at_first_output=counted_at(events, OUTPUT_KINDS),
        tokens_at_first_visible=counted_at(events, ("content",)),
        first_share=sizes[0] / sum(sizes) if sum(sizes) else None,
        largest_share=max(sizes) / sum(sizes) if sum(sizes) else None,
        oddities=(f"{reasons.count('')} events have an empty string for a finish reason",) if "" in reasons else (),
    )
    error_class, error = _error(reply, exchange, by_kind.get("error", []))
    return replace(reply, error_class=error_class, error=error)


def gaps_us(moments_ns: Sequence[int]) -> tuple[int, ...]:
    """From each moment to the next, rounded so that the rounding doesn't add up."""
    since_first = [round((moment - moments_ns[0]) / 1000) for moment in moments_ns]
    return tuple(later - earlier for earlier, later in pairwise(since_first))


def counted_at(events: list[StreamEvent], kinds: tuple[str, ...]) -> int | None:
    """Completion tokens that the server counted with the first delta of ``kinds``, before the next one came. A count at the end is no such count."""
    outputs = [number for number, event in enumerate(events) if event.kind in OUTPUT_KINDS]
    first = next((number for number in outputs if events[number].kind in kinds), None)
    following = next((number for number in outputs if first is not None and number > first), None)
    between = [event.data for event in events[first:following] if event.kind == "usage"] if following else []
    return count_of(between[-1], "completion_tokens") if between else None


def _function(event: StreamEvent) -> dict[str, Any]:
    return next(iter(objects([event.data.get("function")])), {})


def _size(event: StreamEvent) -> int:
    """Characters of an output delta; a tool delta's are those of its name and arguments."""
    if event.kind != "tool":
        return len(event.text)
    function = _function(event)
    return len(str(function.get("name") or "")) + len(str(function.get("arguments") or ""))


def join_tool_calls(events: list[StreamEvent]) -> tuple[dict[str, Any], ...]:
    """Fragments keyed by index, ``arguments`` joined in order. ``ids`` and ``names`` are all that were given, as a server may give several."""
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        call = calls.setdefault(int(event.data["index"]), {"ids": [], "names": [], "fragments": []})
        function = _function(event)
        for part, value in (
            ("ids", event.data.get("id")),
            ("names", function.get("name")),
            ("fragments", function.get("arguments")),
        ):
            if value:
                call[part].append(str(value))
    return tuple(
        {
            "index": index,
            "id": next(iter(call["ids"]), None),
            "name": next(iter(call["names"]), None),
            "arguments": "".join(call["fragments"]),
            **call,
        }
        for index, call in sorted(calls.items())
    )


def _error(reply: Reply, exchange: Exchange, errors: list[StreamEvent]) -> tuple[ErrorClass | None, str | None]:
    if exchange.fault:
        return exchange.fault, exchange.fault_text
    if errors:
        if errors[0].data.get("malformed"):
            return "malformed", errors[0].text
        return (
            "stream_error",
            f"the answer failed after {reply.chunks} pieces of output and is incomplete: {errors[0].text}",
        )
    if reply.content or reply.tool_calls:
        return None, None
    spent = f", {reply.completion_tokens} completion tokens" if reply.completion_tokens is not None else ""
    if reply.reasoning and reply.finish_reason == "length":
        return (
            "reasoning_exhausted",
            f"the whole allowance went into reasoning, no visible answer came (finish reason length{spent})",
        )
    return (
        "no_visible_answer",
        f"no visible text and no tool call (finish reason {reply.finish_reason or 'none'}{spent})",
    )


def count_of(usage: Any, name: str) -> int | None:
    """A count of tokens as the server gave it; None where it gave none that can be one."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
