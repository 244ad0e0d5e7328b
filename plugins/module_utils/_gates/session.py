# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gate's hand: sends requests one at a time, keeps each as a row on disk, and stops at the first infrastructure fault."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
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
from .._words.recipe import Reasoning
from .._words.text import plain

KEEP_CHARACTERS = 4000


@dataclass
class Session:
    """One profile's conversation with one engine."""

    client: Client
    adapter: Adapter
    model: str
    profile: str
    reasoning: Reasoning
    rows: Lines
    tell: Callable[..., None]
    timeout_s: float = 600.0
    seed: str = ""
    protocol: str = ""
    parsers: str = ""
    asked: list[int] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    next_index: int = 0

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
        **options: Any,
    ) -> Reply:
        """One chat completion, with the profile's reasoning unless another is given.

        A transport fault, a 5xx or a timeout raises :class:`CampaignError`; a 4xx is the engine's answer.
        """
        fields = {**self.adapter.sampling, **self.adapter.switches(reasoning or self.reasoning)}
        body = requests.chat(self.model, messages, max_tokens=max_tokens, stream=stream, fields=fields, **options)
        data = requests.encode(body)
        sent_at = time.time()
        exchange = self.client.post("/v1/chat/completions", data, timeout_s=self.timeout_s)
        return self._keep(check, body, data, read_reply(exchange, streamed=stream), sent_at, warmup)

    def responses(self, check: str, items: Any, *, max_tokens: int, tools: list[dict[str, Any]] | None = None) -> Reply:
        """One request to /v1/responses; the reply's ``body`` is its whole document."""
        body = requests.responses(self.model, items, max_tokens=max_tokens, reasoning=self.reasoning, tools=tools)
        data = requests.encode(body)
        sent_at = time.time()
        exchange = self.client.post("/v1/responses", data, timeout_s=self.timeout_s)
        return self._keep(
            check,
            body,
            data,
            read_responses(exchange),
            sent_at,
            warmup=False,
        )

    def count_tokens(self, messages: list[dict[str, Any]]) -> int | None:
        return self.adapter.count_tokens(self.client, messages)

    def _keep(self, check: str, body: dict[str, Any], data: bytes, reply: Reply, sent_at: float, warmup: bool) -> Reply:
        index, self.next_index = self.next_index, self.next_index + 1
        self.asked.append(index)
        self.replies.append(reply)
        row = Row(
            index,
            self.profile,
            self.protocol,
            check,
            warmup,
            utc(sent_at),
            hashlib.sha256(data).hexdigest(),
            abbreviated(body),
            reply,
        )
        self.rows.append({"schema": "tandem.row/v1", **_row_document(row)})
        refused = reply.error_class == "http_status" and reply.status is not None and 400 <= reply.status < 500
        if reply.is_infrastructure and not refused:
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
        return reply


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
