# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Burst: one request alone, then several at one moment. Shows who waits for whom; a diagnostic, never a capacity figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._words.events import Reply
from .._words.profile import BurstGate
from .._words.verdict import VerdictName
from .delivery import cache_evidence, is_warm
from .metrics import NS, nearest_rank
from .prompts import nonce, target_tokens, unique_prompt, within_tolerance
from .session import Session
from .together import Sent

#: Threads take turns: what overlaps by less than this need not have.
JITTER_NS = 5_000_000


@dataclass(frozen=True)
class BurstRun:
    """One reply that had the engine to itself, those sent together, and the most requests that the engine said were waiting (None: it doesn't say)."""

    alone: Reply
    together: tuple[Sent, ...]
    target: int
    most_waiting: int | None
    cached_before: int | None
    cached_after: int | None


def run_burst(session: Session, gate: BurstGate, protocol: dict[str, Any]) -> BurstRun:
    """All prompts are built, and share nothing, before the first is sent. A fault of one of those sent together is kept, not raised."""
    target = target_tokens(gate, protocol)
    session.tell("burst", f"building {gate.concurrency + 1} prompts of {target} tokens")
    marks = [nonce(session.seed, session.profile, "burst", target, number) for number in range(gate.concurrency + 1)]
    first, *others = [unique_prompt(mark, protocol, target, session.count_tokens) for mark in marks]
    cached_before = session.adapter.cached_prompt_tokens(session.client)
    session.tell("burst", "one request alone")
    alone = session.chat("burst-alone", first, max_tokens=gate.max_tokens)
    session.tell("burst", f"{gate.concurrency} requests at one moment")
    together, waiting = session.chat_together("burst", others, max_tokens=gate.max_tokens)
    cached_after = session.adapter.cached_prompt_tokens(session.client)
    return BurstRun(alone, together, target, max(waiting, default=None), cached_before, cached_after)


def burst_document(run: BurstRun, gate: BurstGate) -> dict[str, Any]:
    """What was seen. Moments of ``together`` count from the first request's sending; ``generating_at_once`` is the most that gave output in one instant.

    ``slowdown`` is the median first output of those together over that of the one alone: about 1 without queueing.
    """
    answered = [sent for sent in run.together if sent.reply.error_class is None]
    waits = [sent.reply.first_output_ns / NS for sent in answered if sent.reply.first_output_ns is not None]
    alone = None if run.alone.first_output_ns is None else run.alone.first_output_ns / NS
    median = nearest_rank(waits, 50) if waits else None
    return {
        "diagnostic": True,
        "requested": {
            "context_tokens": gate.context_tokens,
            "concurrency": gate.concurrency,
            "max_tokens": gate.max_tokens,
        },
        "prompt_target_tokens": run.target,
        "completed": len(answered),
        "failed": len(run.together) - len(answered),
        "alone_first_output_s": alone,
        "together": [_sent_document(sent) for sent in run.together],
        "first_output_min_s": min(waits, default=None),
        "first_output_p50_s": median,
        "first_output_max_s": max(waits, default=None),
        "slowdown": median / alone if median and alone else None,
        "generating_at_once": generating_at_once(answered),
        "most_waiting": run.most_waiting,
        "cache": cache_evidence(run.cached_before, run.cached_after, 1 + len(run.together)),
    }


def _sent_document(sent: Sent) -> dict[str, Any]:
    reply = sent.reply

    def moment(value: int | None) -> float | None:
        return None if value is None else (sent.after_ns + value) / NS

    return {
        "sent_s": sent.after_ns / NS,
        "first_output_s": moment(reply.first_output_ns),
        "last_output_s": moment(reply.last_output_ns),
        "end_s": moment(reply.end_ns),
        "error_class": reply.error_class,
        "error": (reply.error or "")[:300] or None,
    }


def generating_at_once(sent: Sequence[Sent]) -> int:
    """The most streams that were between their first and their last output in one instant."""
    edges = []
    for one in sent:
        first, last = one.reply.first_output_ns, one.reply.last_output_ns
        if first is not None and last is not None:
            end = max(first, last - JITTER_NS)
            edges += [(one.after_ns + first, 1), (one.after_ns + end, -1)]
    # At one instant an end goes before a beginning: streams in a row do not overlap.
    most = now = 0
    for _moment, change in sorted(edges):
        now += change
        most = max(most, now)
    return most


def judge_burst(run: BurstRun, document: dict[str, Any]) -> tuple[VerdictName, str]:
    """(verdict, reason). Never required: ``failed`` where requests that are answered alone aren't when they come together."""
    if run.alone.error_class:
        return (
            "inconclusive",
            f"the request alone was not answered ({run.alone.error_class}): there is nothing to compare with",
        )
    replies = (run.alone, *(sent.reply for sent in run.together))
    counts = [reply.prompt_tokens for reply in replies if reply.prompt_tokens is not None]
    wrong = [count for count in counts if not within_tolerance(count, run.target)]
    if wrong:
        return (
            "inconclusive",
            f"{len(wrong)} prompts are not within 0.5 % of the {run.target} tokens asked for (one has {wrong[0]})",
        )
    if document["failed"]:
        classes = sorted({str(sent.reply.error_class) for sent in run.together if sent.reply.error_class})
        return (
            "failed",
            f"{document['failed']} of {len(run.together)} requests sent together failed: {', '.join(classes)}",
        )
    warm = sum(map(is_warm, replies))
    if warm or document["cache"]["unique"] is False:
        told = (
            f"{warm} of {len(replies)} prompts were warm"
            if warm
            else f"{document['cache']['hits']} prompt tokens came from the engine's cache"
        )
        return "inconclusive", f"{told}: a shorter prefill is no shorter queue"
    if document["slowdown"] is None:
        return "inconclusive", "no first output was observed"
    return "passed", queueing(document)


def queueing(document: dict[str, Any]) -> str:
    """In one line, who waited."""
    asked, at_once = document["requested"]["concurrency"], document["generating_at_once"]
    waited = (
        ""
        if document["most_waiting"] is None
        else f", {document['most_waiting']} waiting at most by the engine's own count"
    )
    return (
        f"{asked} sent together, {at_once} generating at once{waited}; first output after "
        f"{document['first_output_min_s']:.2f} to {document['first_output_max_s']:.2f} s, alone {document['alone_first_output_s']:.2f} s"
    )
