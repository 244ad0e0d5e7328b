# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exchange -> reply for POST /v1/responses: text of its message items, calls of its function_call items, reasoning apart. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from .._words.events import Reply
from .client import Exchange
from .replies import count_of, failed_exchange
from .sse import objects


def read_responses(exchange: Exchange) -> Reply:
    """The reply of a Responses document. ``body`` is all of it, ``finish_reason`` its status."""
    empty = Reply(exchange.status, exchange.end_ns, "responses", error_class=exchange.fault, error=exchange.fault_text)
    failed = empty if exchange.fault else failed_exchange(exchange)
    if failed:
        return replace(failed, route="responses")
    try:
        document = json.loads(exchange.body)
    except ValueError:
        return replace(empty, error_class="malformed", error="Responses: a body that is no JSON")
    if not isinstance(document, dict) or not isinstance(document.get("output"), list):
        return replace(empty, error_class="malformed", error="Responses: a document without a list of output items")
    if document.get("error"):
        return replace(
            empty, error_class="stream_error", error=f"Responses: {json.dumps(document['error'])[:2000]}", body=document
        )
    items = objects(document["output"])
    usage = next(iter(objects([document.get("usage")])), {})
    text = _texts(items, "message", "output_text")
    calls = tuple(_call(item, index) for index, item in enumerate(items) if item.get("type") == "function_call")
    kinds = ", ".join(sorted({str(item.get("type"))[:40] for item in items})) or "nothing"
    status = document.get("status")
    return replace(
        empty,
        content=text,
        reasoning=_texts(items, "reasoning", "reasoning_text", "summary_text"),
        tool_calls=calls,
        finish_reason=status if isinstance(status, str) else None,
        prompt_tokens=count_of(usage, "input_tokens"),
        completion_tokens=count_of(usage, "output_tokens"),
        reasoning_tokens=count_of(usage.get("output_tokens_details"), "reasoning_tokens"),
        cached_tokens=count_of(usage.get("input_tokens_details"), "cached_tokens"),
        body=document,
        error_class=None if text or calls else "no_visible_answer",
        error=None
        if text or calls
        else f"Responses: no message with text and no call (status {status}, output: {kinds})",
    )


def _texts(items: list[dict[str, Any]], kind: str, *parts: str) -> str:
    return "".join(
        part["text"]
        for item in items
        if item.get("type") == kind
        for part in [*objects(item.get("content")), *objects(item.get("summary"))]
        if part.get("type") in parts and isinstance(part.get("text"), str)
    )


def _call(item: dict[str, Any], index: int) -> dict[str, Any]:
    identifier, name = item.get("call_id"), item.get("name")
    arguments = str(item.get("arguments") or "")
    return {
        "index": index, "id": identifier, "name": name, "arguments": arguments, "ids": [identifier] if identifier else [],
        "names": [name] if name else [], "fragments": [arguments],
    }  # fmt: skip
