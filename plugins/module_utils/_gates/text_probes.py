# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes of plain text: known answers, JSON, streams, retrieval, free answers. What to ask is data (the protocol); how to look is here."""

from __future__ import annotations

from typing import Any

from .answers import json_mismatch, mismatch
from .coherence import foreign, incoherence
from .finding import SHOWN, Finding, Settings, failed, fault, passed, user, wrong_answer
from .prompts import Messages, nonce, sized_prompt
from .session import Session


def known_answer(session: Session, name: str, settings: Settings) -> Finding:
    """The same question ``repeats`` times: right each time, and the same text each time (temperature 0, fixed seed)."""
    texts = []
    for _repeat in range(settings.get("repeats", 1)):
        reply = session.chat(name, user(settings["prompt"]), max_tokens=settings["max_tokens"])
        wrong = mismatch(reply.content, settings["pattern"], settings.get("forbidden")) or foreign(reply.content)
        problem = fault(reply) or wrong_answer(wrong, reply)
        if problem:
            return problem
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
    return fault(reply) or wrong_answer(wrong, reply) or passed(f"valid: {reply.content[:SHOWN]!r}")


def streaming(session: Session, name: str, settings: Settings) -> Finding:
    """A stream in order: several pieces, a finish reason, [DONE], and the same text as the unstreamed answer."""
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
            ("[DONE]", bool(streamed.done_marker)),
        )
        if not there
    ]
    if lacks:
        return failed(f"the stream lacks {', '.join(lacks)}")
    if streamed.content != whole.content:
        return failed(f"streamed {streamed.content[:80]!r}, unstreamed {whole.content[:80]!r}")
    reason = f"{streamed.chunks} pieces, finish {streamed.finish_reason}, [DONE], same text unstreamed"
    return passed(
        reason,
        *(
            []
            if streamed.completion_tokens is not None
            else ["the stream carries no usage: no count of tokens, no rates"]
        ),
    )


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
        reply = session.chat(
            name, prompt.messages, max_tokens=settings["max_tokens"], prompt_tokens=prompt.counted or prompt.target
        )
        missed = None if code in reply.content else f"depth {depth:g}: the code {code} was not found"
        problem = fault(reply) or wrong_answer(missed, reply)
        if problem:
            return problem
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
