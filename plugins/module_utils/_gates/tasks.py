# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a quality task's answer has to be: text, typed JSON, an applying diff, typed tool calls. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .._words.events import Reply
from .._words.profile import Reasoning
from .answers import call_mismatch, json_mismatch, mismatch, schema_mismatch
from .channels import leak, unwanted_reasoning
from .unified_diff import edit_mismatch

Task = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """``kind``: a row's error class, or ``wrong_answer``, ``cut_by_allowance``, ``leak``, ``unwanted_reasoning``."""

    kind: str
    text: str


def request_options(task: Task) -> dict[str, Any]:
    """What the last turn's request has beside its messages: a schema for the answer, tools."""
    options: dict[str, Any] = {}
    if "schema" in task:
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": task["schema"], "strict": True},
        }
    if "tools" in task:
        options["tools"] = task["tools"]
    return options


def failure_of(task: Task, replies: list[Reply], reasoning: Reasoning, parsers: str) -> Failure | None:
    """Why the attempt failed, None where it passed. Every turn has to be a clean answer; the last one is checked."""
    for reply in replies:
        if reply.error_class:
            return Failure(reply.error_class, (reply.error or "")[:200])
        if found := leak(reply, parsers):
            return Failure("leak", found)
        if found := unwanted_reasoning(reply, reasoning):
            return Failure("unwanted_reasoning", found)
    wrong = answer_mismatch(task, replies[-1])
    if wrong is None:
        return None
    return Failure("cut_by_allowance" if replies[-1].finish_reason == "length" else "wrong_answer", wrong)


def answer_mismatch(task: Task, reply: Reply) -> str | None:
    """What is wrong with one answer."""
    if "edit" in task:
        return edit_mismatch(reply.content, **task["edit"])
    if "calls" in task:
        return call_mismatch(reply.tool_calls, task["calls"]) or _untyped(task, reply)
    if "schema" in task:
        return json_mismatch(reply.content, task["schema"], task.get("values"))
    return mismatch(reply.content.strip(), task["pattern"], task.get("forbidden"))


def _untyped(task: Task, reply: Reply) -> str | None:
    """Arguments of another type than the tool's own schema says; the text of 3 and "3" is the same, the type isn't."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in task["tools"]}
    for call in reply.tool_calls:
        problem = schema_mismatch(json.loads(call["arguments"]), schemas[call["name"]])
        if problem:
            return f"arguments of {call['name']}: {problem}"
    return None
