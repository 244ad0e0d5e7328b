# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functional probes: each sends its requests and says what it saw. What to ask is data (the protocol); how to look is here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._words.events import Reply
from .._words.verdict import CheckResult, Level, VerdictName
from .answers import call_mismatch, json_mismatch, mismatch
from .coherence import incoherence
from .prompts import Messages, nonce, sized_prompt
from .session import Session

Settings = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """What a probe came to."""

    verdict: VerdictName
    reason: str


def passed(reason: str) -> Finding:
    return Finding("passed", reason)


def failed(reason: str) -> Finding:
    return Finding("failed", reason)


def user(text: str) -> Messages:
    return [{"role": "user", "content": text}]


def run_check(session: Session, name: str, level: Level, settings: Settings) -> CheckResult:
    """One check as a result. A probe that sent nothing is ``inconclusive``: a gate that inspected nothing must not pass."""
    session.asked.clear()
    finding = PROBES[settings["probe"]](session, name, settings)
    if not session.asked:
        finding = Finding("inconclusive", "nothing was inspected")
    return CheckResult(name, level, finding.verdict, finding.reason, tuple(session.asked))


def fault(reply: Reply) -> Finding | None:
    """A failed finding where the reply is no usable answer."""
    return failed(f"{reply.error_class}: {(reply.error or '')[:200]}") if reply.error_class else None


def known_answer(session: Session, name: str, settings: Settings) -> Finding:
    """The same question ``repeats`` times: right each time, and the same text each time (temperature 0, fixed seed)."""
    texts = []
    for _repeat in range(settings.get("repeats", 1)):
        reply = session.chat(name, user(settings["prompt"]), max_tokens=settings["max_tokens"])
        problem = fault(reply)
        if problem:
            return problem
        wrong = mismatch(reply.content, settings["pattern"], settings.get("forbidden"))
        if wrong:
            return failed(f"{wrong}: {reply.content[:120]!r}")
        texts.append(reply.content)
    if len(set(texts)) > 1:
        return failed(
            f"the same question at temperature 0 gave different answers: {texts[0][:80]!r}, {texts[1][:80]!r}"
        )
    return passed(f"{len(texts)} of {len(texts)} right" + (", the same text" if len(texts) > 1 else ""))


def json_answer(session: Session, name: str, settings: Settings) -> Finding:
    """An answer in JSON, asked for by schema or as any object; its values are looked at, too."""
    schema = settings["schema"]
    if settings["format"] == "json_schema":
        form: dict[str, Any] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": True},
        }
    else:
        form = {"type": "json_object"}
    reply = session.chat(name, user(settings["prompt"]), max_tokens=settings["max_tokens"], response_format=form)
    wrong = json_mismatch(reply.content, schema, settings.get("values"))
    return fault(reply) or (
        failed(f"{wrong}: {reply.content[:120]!r}") if wrong else passed(f"valid: {reply.content[:120]!r}")
    )


def streaming(session: Session, name: str, settings: Settings) -> Finding:
    """A stream in order: several pieces, a finish reason, usage, [DONE], and the same text as the unstreamed answer."""
    streamed = session.chat(name, user(settings["prompt"]), max_tokens=settings["max_tokens"])
    whole = session.chat(name, user(settings["prompt"]), max_tokens=settings["max_tokens"], stream=False)
    problem = fault(streamed) or fault(whole)
    if problem:
        return problem
    lacks = [
        what
        for what, there in (
            ("more than one piece", streamed.chunks > 1),
            ("a finish reason", streamed.finish_reason is not None),
            ("usage", streamed.completion_tokens is not None),
            ("[DONE]", bool(streamed.done_marker)),
        )
        if not there
    ]
    if lacks:
        return failed(f"the stream lacks {', '.join(lacks)}")
    if streamed.content != whole.content:
        return failed(f"streamed {streamed.content[:80]!r}, unstreamed {whole.content[:80]!r}")
    return passed(f"{streamed.chunks} pieces, finish {streamed.finish_reason}, usage, [DONE], same text unstreamed")


def retrieval(session: Session, name: str, settings: Settings) -> Finding:
    """A code hidden at several depths of a text of ``target_tokens``; found at each depth."""
    lengths = []
    for depth in settings["depths"]:
        code = f"KITE-{int(nonce(session.seed, name, depth), 16) % 9000 + 1000}"

        def build(lines: list[str], depth: float = depth, code: str = code) -> Messages:
            cut = int(len(lines) * depth)
            text = "\n".join([*lines[:cut], f"The secret code is {code}.", *lines[cut:]])
            return user(f"Read the text.\n\n{text}\n\nWhat is the secret code? Answer with the code only.")

        prompt = sized_prompt(nonce(session.seed, name, depth), settings["target_tokens"], build, session.count_tokens)
        session.tell(name, f"retrieval at depth {depth:g}")
        reply = session.chat(name, prompt.messages, max_tokens=settings["max_tokens"])
        problem = fault(reply)
        if problem:
            return problem
        if code not in reply.content:
            return failed(f"depth {depth:g}: the code {code} was not found: {reply.content[:120]!r}")
        lengths.append(reply.prompt_tokens or 0)
    return passed(f"found at {len(lengths)} depths, prompts of {min(lengths)} to {max(lengths)} tokens")


def coherence(session: Session, name: str, settings: Settings) -> Finding:
    """Free answers: language, not loops, noise or silence."""
    for number, prompt in enumerate(settings["prompts"], start=1):
        session.tell(name, f"free answer {number}/{len(settings['prompts'])}")
        reply = session.chat(name, user(prompt), max_tokens=settings["max_tokens"])
        problem = fault(reply)
        if problem:
            return problem
        wrong = incoherence(reply.content)
        if wrong:
            return failed(f"answer {number}: {wrong}: {reply.content[:120]!r}")
    return passed(f"{len(settings['prompts'])} free answers are coherent English")


def tool_call(session: Session, name: str, settings: Settings) -> Finding:
    """``repeats`` requests with tools, each of which has to end in exactly the wanted calls."""
    clean = 0
    for _repeat in range(settings.get("repeats", 1)):
        reply = session.chat(
            name,
            user(settings["prompt"]),
            max_tokens=settings["max_tokens"],
            stream=settings.get("stream", False),
            tools=settings["tools"],
        )
        wrong = (
            f"{reply.error_class}: {reply.error}"
            if reply.error_class
            else call_mismatch(reply.tool_calls, settings["calls"])
        )
        if not wrong and reply.finish_reason != "tool_calls":
            wrong = f"finish reason {reply.finish_reason!r} instead of 'tool_calls'"
        if wrong:
            return failed(f"{clean} clean, then {wrong}: {reply.content[:120]!r}")
        clean += 1
    return passed(f"{clean} of {clean} clean")


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
    wrong = mismatch(reply.content, settings["pattern"])
    return fault(reply) or (
        failed(f"{wrong}: {reply.content[:120]!r}") if wrong else passed("the answer uses the tool's result")
    )


def responses_text(session: Session, name: str, settings: Settings) -> Finding:
    """/v1/responses: a message with non-empty, right text."""
    reply = session.responses(name, settings["prompt"], max_tokens=settings["max_tokens"])
    wrong = mismatch(reply.content, settings["pattern"], settings.get("forbidden"))
    return fault(reply) or (
        failed(f"{wrong}: {reply.content[:120]!r}") if wrong else passed(f"message text {reply.content[:80]!r}")
    )


def responses_tool(session: Session, name: str, settings: Settings) -> Finding:
    """/v1/responses with a tool: the wanted call."""
    reply = session.responses(name, settings["prompt"], max_tokens=settings["max_tokens"], tools=settings["tools"])
    wrong = call_mismatch(reply.tool_calls, settings["calls"])
    return fault(reply) or (failed(f"{wrong}: {reply.content[:120]!r}") if wrong else passed("the wanted call"))


PROBES: dict[str, Callable[[Session, str, Settings], Finding]] = {
    probe.__name__: probe
    for probe in (
        known_answer,
        json_answer,
        streaming,
        retrieval,
        coherence,
        tool_call,
        tool_result,
        responses_text,
        responses_tool,
    )
}
