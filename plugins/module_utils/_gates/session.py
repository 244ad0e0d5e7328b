# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gate's hand: sends requests one at a time, keeps each as a row on disk, and stops at the first infrastructure fault."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._api import requests
from .._api.client import Client
from .._api.replies import read_reply
from .._api.responses import read_responses
from .._engine.adapters import Adapter
from .._evidence.record import utc
from .._evidence.store import Lines
from .._words.errors import CampaignError
from .._words.events import Reply, Row
from .._words.profile import Reasoning
from .._words.text import plain
from .calibration import Calibration
from .prompts import Messages
from .together import Sent, send_together

KEEP_CHARACTERS = 4000
#: Room in the context for a prompt that nobody has counted, and for what a chat template adds to one that was.
SHORT_PROMPT_TOKENS = 1024
TEMPLATE_TOKENS = 64


@dataclass
class Session:
    """One profile's conversation with one engine. ``reasoning_tokens``: what each request may spend on reasoning beside its visible answer."""

    client: Client
    adapter: Adapter
    model: str
    profile: str
    reasoning: Reasoning
    rows: Lines
    tell: Callable[..., None]
    context_tokens: int = 32768
    reasoning_tokens: int = 0
    timeout_s: float = 600.0
    seed: str = ""
    protocol: str = ""
    parsers: str = ""
    asked: list[int] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    next_index: int = 0
    calibration: Calibration | None = None

    def begin(self) -> None:
        """Before a check: what is asked from now on is its own."""
        self.asked.clear()
        self.replies.clear()

    def chat(
        self,
        check: str,
        messages: list[dict[str, Any]],
        *,
        max_tokens: int,
        stream: bool = True,
        warmup: bool = False,
        reasoning: Reasoning | None = None,
        prompt_tokens: int = SHORT_PROMPT_TOKENS,
        **options: Any,
    ) -> Reply:
        """One chat completion, with the profile's reasoning unless another is given. ``prompt_tokens``: of a long prompt, as it was counted.

        A transport fault, a 5xx or a timeout raises :class:`CampaignError`; a 4xx is the engine's answer.
        """
        fields = self._fields(reasoning or self.reasoning)
        limit = self._limit(max_tokens, prompt_tokens)
        body = requests.chat(self.model, messages, max_tokens=limit, stream=stream, fields=fields, **options)
        return self.send(check, body, warmup=warmup)

    def chat_together(
        self, check: str, prompts: Sequence[Messages], *, max_tokens: int
    ) -> tuple[tuple[Sent, ...], tuple[int, ...]]:
        """(what came of each, the engine's counts of waiting requests meanwhile). Streams, sent at one moment; a fault of one is its reply's, and kept."""
        fields = self._fields(self.reasoning)
        bodies = [
            requests.chat(self.model, messages, max_tokens=max_tokens, stream=True, fields=fields)
            for messages in prompts
        ]
        data = [requests.encode(body) for body in bodies]
        sent_at = time.time()
        sent, waiting = send_together(self.client, data, self.adapter.waiting_requests, self.timeout_s)
        for body, encoded, one in zip(bodies, data, sent, strict=True):
            self._keep(check, body, encoded, one.reply, sent_at + one.after_ns / 1e9, warmup=False, counts=True)
        return sent, waiting

    def responses(self, check: str, items: Any, *, max_tokens: int, tools: list[dict[str, Any]] | None = None) -> Reply:
        """One request to /v1/responses; the reply's ``body`` is its whole document."""
        limit = self._limit(max_tokens, SHORT_PROMPT_TOKENS)
        switches = self.adapter.switches(self.reasoning)
        body = requests.responses(self.model, items, max_tokens=limit, switches=switches, tools=tools)
        return self.send(check, body, warmup=False)

    def _limit(self, visible: int, prompt_tokens: int) -> int:
        """Visible and reasoning tokens as one cap, as far as the context holds it beside the prompt."""
        left = self.context_tokens - prompt_tokens - TEMPLATE_TOKENS
        return max(visible, min(visible + self.reasoning_tokens, left))

    def sampling(self) -> dict[str, Any]:
        """What every chat request of the profile carries for sampling and reasoning, for the record."""
        return {**requests.SAMPLING, **self._fields(self.reasoning)}

    def count_tokens(self, messages: Messages) -> int | None:
        """By the engine's tokenizer; where it has no page for it, by characters, calibrated by usage. None where neither works."""
        if self.calibration is None:
            counted = self.adapter.count_tokens(self.client, messages)
            if counted is not None:
                return counted
            self.calibration = Calibration(self._measured, self.seed, self.context_tokens - TEMPLATE_TOKENS)
        return self.calibration(messages)

    def _measured(self, messages: Messages) -> int | None:
        """A row that is marked as a warm-up and is no part of any check."""
        self.tell("prompts", "calibrating the length of prompts by usage")
        body = requests.chat(self.model, messages, max_tokens=2, stream=False, fields=self._fields(self.reasoning))
        return self.send("calibration", body, warmup=True, counts=False).prompt_tokens

    def _fields(self, reasoning: Reasoning) -> dict[str, Any]:
        return {**self.adapter.sampling, **self.adapter.switches(reasoning)}

    def send(self, check: str, body: dict[str, Any], *, warmup: bool, counts: bool = True) -> Reply:
        """One request by the API that its body is for. ``counts``: it is part of the check that has begun."""
        is_chat = "messages" in body
        data = requests.encode(body)
        sent_at = time.time()
        exchange = self.client.post(
            "/v1/chat/completions" if is_chat else "/v1/responses", data, timeout_s=self.timeout_s
        )
        reply = read_reply(exchange, streamed=body["stream"]) if is_chat else read_responses(exchange)
        index = self._keep(check, body, data, reply, sent_at, warmup=warmup, counts=counts)
        raise_fault(check, index, reply)
        return reply

    def _keep(
        self, check: str, body: dict[str, Any], data: bytes, reply: Reply, sent_at: float, *, warmup: bool, counts: bool
    ) -> int:
        """The row on disk; its index."""
        index, self.next_index = self.next_index, self.next_index + 1
        if counts:
            self.asked.append(index)
            self.replies.append(reply)
        row = Row(
            index,
            self.profile,
            self.protocol,
            check,
            warmup,
            utc(sent_at),
            request_sha256(data),
            abbreviated(body),
            reply,
        )
        self.rows.append({"schema": "tandem.row/v1", **_row_document(row)})
        return index


def request_sha256(data: bytes) -> str:
    """Of a request's body as it went over the wire."""
    return hashlib.sha256(data).hexdigest()


def raise_fault(check: str, index: int, reply: Reply) -> None:
    """Ends the gates where the reply is none of the engine's own: :class:`CampaignError`. A 4xx is its answer."""
    refused = reply.error_class == "http_status" and reply.status is not None and 400 <= reply.status < 500
    if not reply.is_infrastructure or refused:
        return
    ours = (
        "; prompt and budget don't fit what the engine serves: limits or a gate of the recipe are wrong, nothing is said of the model"
        if reply.error_class == "too_long"
        else ""
    )
    raise CampaignError(
        f"{check}: {plain(reply.error or reply.error_class or 'no answer')}{ours}",
        row=index,
        error_class=reply.error_class,
    )


def abbreviated(body: dict[str, Any]) -> dict[str, Any]:
    """The request with long texts cut to their beginning, length and hash: a row stays readable, its sha256 covers all of it."""
    return {key: _shortened(value) for key, value in body.items()}


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > KEEP_CHARACTERS:
        return {"begins": value[:300], "characters": len(value), "sha256": hashlib.sha256(value.encode()).hexdigest()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return value


def _row_document(row: Row) -> dict[str, Any]:
    return {**vars(row), "reply": dict(vars(row.reply))}
