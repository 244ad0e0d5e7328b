# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Request bodies, pure. Sampling is always explicit: an engine may take its defaults from the model repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SAMPLING: dict[str, Any] = {"temperature": 0, "top_p": 1, "seed": 1, "presence_penalty": 0, "frequency_penalty": 0}


def chat(
    model: str,
    messages: list[dict[str, Any]],
    *,
    max_tokens: int,
    stream: bool,
    fields: Mapping[str, Any] | None = None,
    response_format: dict[str, Any] | None = None,
    tools: list[dict[str, Any]] | None = None,
    tool_choice: str | None = None,
) -> dict[str, Any]:
    """Body of POST /v1/chat/completions. ``fields``: the engine's own for sampling and reasoning."""
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "max_tokens": max_tokens,
        "stream": stream,
        **SAMPLING,
        **(fields or {}),
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    if response_format:
        body["response_format"] = response_format
    if tools:
        body["tools"] = tools
        body["tool_choice"] = tool_choice or "auto"
    return body


def responses(
    model: str,
    items: Any,
    *,
    max_tokens: int,
    switches: Mapping[str, Any] | None = None,
    tools: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Body of POST /v1/responses (not streamed). ``switches``: as in a chat request; an effort has another place here."""
    body: dict[str, Any] = {
        "model": model,
        "input": items,
        "max_output_tokens": max_tokens,
        "temperature": 0,
        "top_p": 1,
        "stream": False,
        **(switches or {}),
    }
    effort = body.pop("reasoning_effort", None)
    if effort:
        body["reasoning"] = {"effort": effort}
    if tools:
        body["tools"] = [{"type": "function", **tool["function"]} for tool in tools]
    return body


def encode(body: dict[str, Any]) -> bytes:
    """The bytes on the wire, made before the clock starts."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
