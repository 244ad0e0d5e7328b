# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quality: tasks with checked answers, several attempts each; every attempt is kept with its whole visible answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._words.events import Reply
from .answers import json_mismatch, mismatch
from .prompts import Messages
from .session import Session


@dataclass(frozen=True)
class Attempt:
    """One attempt at a task. ``failure`` says what was wrong, None where it passed."""

    task: str
    area: str
    number: int
    row: int
    failure: str | None
    finish_reason: str | None
    answer: str
    reasoning_characters: int


def run_task(session: Session, name: str, task: dict[str, Any], budget: int) -> list[Attempt]:
    """All attempts of one task. ``budget``: visible and reasoning tokens, sent as one cap."""
    attempts = []
    for number in range(1, task["attempts"] + 1):
        session.tell(name, f"attempt {number}/{task['attempts']}")
        reply = _converse(session, name, task, budget)
        attempts.append(
            Attempt(
                name,
                task["area"],
                number,
                session.asked[-1],
                _failure(task, reply),
                reply.finish_reason,
                reply.content,
                len(reply.reasoning),
            )
        )
    return attempts


def _converse(session: Session, name: str, task: dict[str, Any], budget: int) -> Reply:
    """Plays the turns; the last answer is the one that is checked."""
    messages: Messages = [{"role": "system", "content": task["system"]}] if "system" in task else []
    options: dict[str, Any] = {}
    if "schema" in task:
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": task["schema"], "strict": True},
        }
    reply: Reply | None = None
    for turn in task["turns"]:
        messages = [*messages, {"role": "user", "content": turn}]
        reply = session.chat(name, messages, max_tokens=budget, **options)
        messages = [*messages, {"role": "assistant", "content": reply.content}]
    if reply is None:
        raise ValueError(f"task {name} has no turns")
    return reply


def _failure(task: dict[str, Any], reply: Reply) -> str | None:
    if reply.error_class:
        return f"{reply.error_class}: {(reply.error or '')[:200]}"
    if "schema" in task:
        return json_mismatch(reply.content, task["schema"], task.get("values"))
    return mismatch(reply.content, task["pattern"], task.get("forbidden"))


def area_scores(attempts: list[Attempt]) -> dict[str, dict[str, int]]:
    """``{area: {passed, attempts}}``: intelligence 6/6, session 3/3, tools 3/3 and the like."""
    scores: dict[str, dict[str, int]] = {}
    for attempt in attempts:
        score = scores.setdefault(attempt.area, {"passed": 0, "attempts": 0})
        score["attempts"] += 1
        score["passed"] += attempt.failure is None
    return scores
