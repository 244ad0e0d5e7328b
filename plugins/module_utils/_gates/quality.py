# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quality: tasks with checked answers, several attempts each, and one long context; every attempt is kept with its whole visible answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._words.documents import to_document
from .._words.events import Reply
from .._words.profile import QualityGate
from .._words.verdict import GateResult, VerdictName
from .finding import user
from .prompts import Messages, nonce, sized_prompt, within_tolerance
from .session import Session
from .tasks import Failure, Task, failure_of, request_options

#: Beyond an answer's allowance, for what the chat template adds.
MARGIN_TOKENS = 64


@dataclass(frozen=True)
class Attempt:
    """One attempt at a task. ``failure`` says what was wrong, None where it passed; ``rows`` are its requests in rows.jsonl, the last one is checked."""

    task: str
    area: str
    number: int
    rows: tuple[int, ...]
    failure_class: str | None
    failure: str | None
    finish_reason: str | None
    answer: str
    tool_calls: tuple[dict[str, Any], ...]
    reasoning_characters: int
    reasoning_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True)
class LongContext:
    """The question behind a long text. ``target_tokens`` is the protocol's, ``attempted_tokens`` what this recipe's limit leaves of it."""

    target_tokens: int
    attempted_tokens: int
    prompt_tokens: int | None
    verdict: VerdictName
    reason: str
    attempt: Attempt


def run_quality(
    session: Session, gate: QualityGate, protocol: dict[str, Any], context_tokens: int
) -> tuple[GateResult, dict[str, Any]]:
    """(result, what quality.json has of it). ``context_tokens``: the recipe's limit."""
    tasks: dict[str, Task] = protocol["task"]
    budget = gate.visible_tokens + gate.reasoning_tokens
    attempts: list[Attempt] = []
    for number, (name, task) in enumerate(tasks.items(), start=1):
        session.tell("quality", f"quality {number}/{len(tasks)}: {name}", done=number, total=len(tasks))
        attempts += [attempt_task(session, name, task, number, budget) for number in range(1, task["attempts"] + 1)]
    long = run_context(session, protocol["context"], budget, context_tokens) if "context" in protocol else None
    verdict, reason = judge_quality(attempts, long)
    record = {
        "profile": session.profile,
        "protocol": gate.protocol,
        "budget": {
            "visible_tokens": gate.visible_tokens,
            "reasoning_tokens": gate.reasoning_tokens,
            "sent_as": "one cap",
        },
        "scores": area_scores(attempts),
        "context": to_document(long),
        "verdict": verdict,
        "reason": reason,
        "attempts": to_document(attempts),
    }
    return GateResult(gate.protocol, verdict, reason, gate.required), record


def judge_quality(attempts: list[Attempt], long: LongContext | None) -> tuple[VerdictName, str]:
    """Every attempt has to pass, and the long context to be reached and answered."""
    if not attempts:
        return "inconclusive", "no task was run"
    shown = ", ".join(f"{area} {score['passed']}/{score['attempts']}" for area, score in area_scores(attempts).items())
    wrong = next((attempt for attempt in attempts if attempt.failure), None)
    if wrong:
        return "failed", f"{shown}; {wrong.task}: {wrong.failure}"
    if long and long.verdict != "passed":
        return long.verdict, f"{shown}; context: {long.reason}"
    return "passed", shown + (f", context {long.reason}" if long else "")


def attempt_task(session: Session, name: str, task: Task, number: int, budget: int) -> Attempt:
    """One attempt. ``budget``: visible and reasoning tokens, sent as one cap."""
    session.tell("quality", f"{name}: attempt {number}/{task['attempts']}")
    session.begin()
    _converse(session, name, task, budget)
    failure = failure_of(task, session.replies, session.reasoning, session.parsers)
    return _attempt(session, name, task["area"], number, failure)


def _attempt(session: Session, name: str, area: str, number: int, failure: Failure | None) -> Attempt:
    last = session.replies[-1]
    counts = [reply.reasoning_tokens for reply in session.replies if reply.reasoning_tokens is not None]
    return Attempt(
        name, area, number, tuple(session.asked),
        failure.kind if failure else None, failure.text if failure else None, last.finish_reason, last.content, last.tool_calls,
        sum(len(reply.reasoning) for reply in session.replies), sum(counts) if counts else None, last.completion_tokens,
    )  # fmt: skip


def _converse(session: Session, name: str, task: Task, budget: int) -> None:
    """Plays the turns; the last one carries the task's schema or tools. A turn without an answer ends it."""
    messages: Messages = [{"role": "system", "content": task["system"]}] if "system" in task else []
    for number, turn in enumerate(task["turns"], start=1):
        messages = [*messages, *user(turn)]
        options = request_options(task) if number == len(task["turns"]) else {}
        reply = session.chat(name, messages, max_tokens=budget, **options)
        if reply.error_class:
            return
        messages = [*messages, {"role": "assistant", "content": reply.content}]


def run_context(session: Session, context: dict[str, Any], budget: int, context_tokens: int) -> LongContext:
    """Two codes at two depths of a text of the target's length, or of what the recipe's limit leaves beside the answer."""
    target = context["target_tokens"]
    attempted = min(target, context_tokens - budget - MARGIN_TOKENS)
    codes = [f"{word}-{int(nonce(session.seed, word), 16) % 9000 + 1000}" for word in ("MAPLE", "CEDAR")]

    def build(lines: list[str]) -> Messages:
        first, second = int(len(lines) * 0.2), int(len(lines) * 0.8)
        notes = [
            f"Note: the {when} code of this log is {code}." for when, code in zip(("first", "last"), codes, strict=True)
        ]
        text = "\n".join([*lines[:first], notes[0], *lines[first:second], notes[1], *lines[second:]])
        return user(f"{text}\n\n{context['question']}")

    session.begin()
    session.tell("quality", f"quality: a context of {attempted} tokens")
    prompt = sized_prompt(nonce(session.seed, session.profile, target), attempted, build, session.count_tokens)
    reply = session.chat("context", prompt.messages, max_tokens=budget)
    task = {"pattern": rf"\b{codes[0]}\b[^\n]*\b{codes[1]}\b"}
    failure = failure_of(task, session.replies, session.reasoning, session.parsers)
    verdict, reason = _judge_context(reply, attempted, failure)
    return LongContext(
        target, attempted, reply.prompt_tokens, verdict, reason, _attempt(session, "context", "context", 1, failure)
    )


def _judge_context(reply: Reply, attempted: int, failure: Failure | None) -> tuple[VerdictName, str]:
    if reply.prompt_tokens is not None and not within_tolerance(reply.prompt_tokens, attempted):
        return "inconclusive", f"{attempted} tokens were attempted, the prompt had {reply.prompt_tokens}"
    if failure:
        return "failed", f"{failure.kind}: {failure.text}"
    if reply.prompt_tokens is None:
        return "inconclusive", f"the engine does not tell whether the {attempted} tokens attempted were reached"
    return "passed", f"{reply.prompt_tokens:,} tokens"


def area_scores(attempts: list[Attempt]) -> dict[str, dict[str, int]]:
    """``{area: {passed, attempts}}``: intelligence 6/6, session 3/3, tools 3/3 and the like."""
    scores: dict[str, dict[str, int]] = {}
    for attempt in attempts:
        score = scores.setdefault(attempt.area, {"passed": 0, "attempts": 0})
        score["attempts"] += 1
        score["passed"] += attempt.failure is None
    return scores
