# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a request is, moment by moment. Times are CLOCK_MONOTONIC nanoseconds since the request's first byte was sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

EventKind = Literal["role", "reasoning", "content", "tool", "finish", "usage", "error", "done"]

#: Failure classes of a row. ``reasoning_exhausted``: the allowance went into reasoning, no visible answer came.
#: ``transport``, ``http_status``, ``timeout`` and ``cut`` are infrastructure, as is ``too_long`` (prompt and budget beyond the served context:
#: our own mistake or the recipe's); the others are the model's or engine's own.
ErrorClass = Literal[
    "transport",
    "http_status",
    "timeout",
    "cut",
    "too_long",
    "stream_error",
    "malformed",
    "no_visible_answer",
    "reasoning_exhausted",
]
INFRASTRUCTURE_ERRORS: tuple[ErrorClass, ...] = ("transport", "http_status", "timeout", "cut", "too_long")


@dataclass(frozen=True)
class StreamEvent:
    """One meaningful piece of a stream and the instant its last byte was read."""

    at_ns: int
    kind: EventKind
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A request's answer, streamed or whole, in one shape.

    ``route``: by which API it came. ``tool_calls``: ``{id, name, arguments, ids, names, fragments}``; the last three as they were given, in order.
    ``oddities``: what is not as the API's documentation has it and yet harms nothing.
    ``first_share``: the first output delta's part of all output characters, 0 to 1; ``largest_share``: the largest delta's.
    ``tokens_at_first_output``, ``tokens_at_first_visible``: completion tokens as the server counted them up to and with that delta; None where
    it counts at the end only.
    ``first_output_ns``: first non-empty reasoning, content or tool delta. ``first_visible_ns``: first non-empty
    content. ``last_output_ns``: last non-empty delta. ``end_ns``: the body's end. A value that was not observed is None.
    ``gaps_us``: microseconds from each output delta to the next, in order; they add up to last − first output.
    """

    status: int | None
    end_ns: int
    route: Literal["chat", "responses"] = "chat"
    content: str = ""
    reasoning: str = ""
    reasoning_field: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    finish_reason: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    first_output_ns: int | None = None
    first_visible_ns: int | None = None
    last_output_ns: int | None = None
    done_marker: bool | None = None
    chunks: int = 0
    gaps_us: tuple[int, ...] = ()
    tokens_at_first_output: int | None = None
    tokens_at_first_visible: int | None = None
    first_share: float | None = None
    largest_share: float | None = None
    oddities: tuple[str, ...] = ()
    error_class: ErrorClass | None = None
    error: str | None = None
    body: Any = None

    @property
    def is_infrastructure(self) -> bool:
        """True where transport or server failed, so that nothing may be said of the model."""
        return self.error_class in INFRASTRUCTURE_ERRORS


@dataclass(frozen=True)
class Row:
    """One request as evidence: which gate and check made it, what was asked, and the whole reply."""

    index: int
    profile: str
    protocol: str
    check: str
    warmup: bool
    sent_at: str
    request_sha256: str
    request: dict[str, Any]
    reply: Reply
