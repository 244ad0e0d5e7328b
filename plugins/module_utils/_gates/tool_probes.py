# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes of tool calls over chat completions and Responses, and of the turn that hands a tool's result back."""

from __future__ import annotations

import json
from typing import Any

from .._words.events import Reply
from .answers import call_mismatch, call_written_out, mismatch
from .channels import call_in_reasoning
from .finding import Finding, Settings, failed, fault, passed, user, wrong_answer
from .prompts import Messages, nonce, sized_prompt
from .session import Session


def tool_call(session: Session, name: str, settings: Settings) -> Finding:
    """``repeats`` requests with tools, or one for each of ``cities``, each of which has to end in exactly the wanted calls.

    With ``prefix_tokens`` they share a long system text, so that a cached prefix is followed by different questions.
    """
    prefix, streamed = _prefix(session, name, settings), settings.get("stream", False)
    clean = 0
    for city in settings.get("cities", [""] * settings.get("repeats", 1)):
        reply = session.chat(
            name,
            [*prefix, *user(settings["prompt"].replace("CITY", city))],
            max_tokens=settings["max_tokens"],
            stream=streamed,
            tools=settings["tools"],
        )
        wrong = _wrong_call(reply, _wanted(settings, city), streamed=streamed)
        if wrong:
            return failed(f"{clean} clean, then {wrong}")
        clean += 1
    return passed(f"{clean} of {clean} clean")


def _prefix(session: Session, name: str, settings: Settings) -> Messages:
    if "prefix_tokens" not in settings:
        return []

    def build(lines: list[str]) -> Messages:
        return [{"role": "system", "content": "\n".join(["You help the dispatchers of this depot.", *lines])}]

    return sized_prompt(nonce(session.seed, name), settings["prefix_tokens"], build, session.count_tokens).messages


def _wanted(settings: Settings, city: str) -> list[dict[str, Any]]:
    return [
        {**call, "arguments": {key: pattern.replace("CITY", city) for key, pattern in call["arguments"].items()}}
        for call in settings["calls"]
    ]


def _wrong_call(reply: Reply, wanted: list[dict[str, Any]], *, streamed: bool) -> str | None:
    """What keeps the reply from being exactly the wanted calls, the cause before its consequences."""
    problem = fault(reply)
    swallowed = call_in_reasoning(reply)
    if problem:
        return swallowed or problem.reason
    wrong = swallowed or call_mismatch(reply.tool_calls, wanted)
    if not reply.tool_calls and call_written_out(reply.content, wanted):
        wrong = "the call stands in the visible text instead of tool_calls: the tool-call parser or the chat template is suspected"
    if wrong:
        return f"{wrong}: {reply.content[:120]!r}" if reply.content and not swallowed else wrong
    if reply.finish_reason != "tool_calls":
        return f"finish reason {reply.finish_reason!r} with tool calls, instead of 'tool_calls'"
    return "a stream of tool calls without [DONE]" if streamed and not reply.done_marker else None


def tool_result(session: Session, name: str, settings: Settings) -> Finding:
    """A tool's result handed back: the answer has to use it."""
    call = {
        "id": "call_0001",
        "type": "function",
        "function": {"name": settings["call"]["name"], "arguments": json.dumps(settings["call"]["arguments"])},
    }
    messages: Messages = [
        *user(settings["prompt"]),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0001", "content": settings["result"]},
    ]
    reply = session.chat(name, messages, max_tokens=settings["max_tokens"], tools=settings["tools"])
    return _continued(reply, settings)


def responses_tool(session: Session, name: str, settings: Settings) -> Finding:
    """/v1/responses with a tool: the wanted call."""
    reply = session.responses(name, settings["prompt"], max_tokens=settings["max_tokens"], tools=settings["tools"])
    wrong = call_mismatch(reply.tool_calls, settings["calls"])
    return fault(reply) or wrong_answer(wrong, reply) or passed("the wanted call")


def responses_result(session: Session, name: str, settings: Settings) -> Finding:
    """/v1/responses with a tool's result handed back: the answer has to use it."""
    items = [
        *user(settings["prompt"]),
        {
            "type": "function_call",
            "call_id": "call_0001",
            "name": settings["call"]["name"],
            "arguments": json.dumps(settings["call"]["arguments"]),
        },
        {"type": "function_call_output", "call_id": "call_0001", "output": settings["result"]},
    ]
    reply = session.responses(name, items, max_tokens=settings["max_tokens"], tools=settings["tools"])
    return _continued(reply, settings)


def responses_text(session: Session, name: str, settings: Settings) -> Finding:
    """/v1/responses: a message with non-empty, right text."""
    reply = session.responses(name, settings["prompt"], max_tokens=settings["max_tokens"])
    wrong = mismatch(reply.content, settings["pattern"], settings.get("forbidden"))
    return fault(reply) or wrong_answer(wrong, reply) or passed(f"message text {reply.content[:80]!r}")


def _continued(reply: Reply, settings: Settings) -> Finding:
    problem = fault(reply)
    if problem:
        return failed(f"the continuation with the tool's result failed: {problem.reason}")
    wrong = mismatch(reply.content, settings["pattern"], settings.get("forbidden"))
    return wrong_answer(wrong, reply) or passed("the answer uses the tool's result")
