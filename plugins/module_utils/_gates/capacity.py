# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capacity: one request at a time, prompts of an exact length that share nothing, timed at the client."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .._words.events import Reply
from .._words.recipe import CapacityGate
from .._words.verdict import VerdictName
from .metrics import (
    METRICS,
    GenerationStart,
    NoMetricValue,
    aggregate_output,
    generation_start,
    nearest_rank,
    summarise,
)
from .prompts import Messages, nonce, sized_prompt, within_tolerance
from .session import Session

#: What a chat template puts before our own first words may be shared by all prompts; more than this is a cache hit.
SHARED_PREFIX_TOKENS = 16


@dataclass(frozen=True)
class CapacityRun:
    """All replies of a lane, warm-ups apart, and what surrounds them."""

    warmups: tuple[Reply, ...]
    measured: tuple[Reply, ...]
    target: int
    wall_ns: int
    cached_before: int | None
    cached_after: int | None


def run_capacity(session: Session, gate: CapacityGate, protocol: dict[str, Any]) -> CapacityRun:
    """Warm-ups first, then the measured requests; all prompts are built before the clock of the lane starts."""
    target = gate.context_tokens - gate.max_tokens - protocol["margin_tokens"]
    name = f"capacity-{gate.context_tokens}"
    prompts = []
    for number in range(gate.warmup + gate.requests):
        session.tell("capacity", f"building prompt {number + 1}/{gate.warmup + gate.requests} of {target} tokens")
        prompts.append(_prompt(session, protocol, target, number))
    warmups = tuple(_ask(session, name, prompts[number], gate, warmup=True) for number in range(gate.warmup))
    cached_before = session.adapter.cached_prompt_tokens(session.client)
    measured: list[Reply] = []
    start = time.monotonic_ns()
    for number, messages in enumerate(prompts[gate.warmup :], start=1):
        measured.append(_ask(session, name, messages, gate, warmup=False))
        session.tell(
            "capacity", f"capacity {number}/{gate.requests}{so_far(measured)}", done=number, total=gate.requests
        )
    wall_ns = time.monotonic_ns() - start
    return CapacityRun(
        warmups, tuple(measured), target, wall_ns, cached_before, session.adapter.cached_prompt_tokens(session.client)
    )


def _prompt(session: Session, protocol: dict[str, Any], target: int, number: int) -> Messages:
    mark = nonce(session.seed, session.profile, target, number)

    def build(lines: list[str]) -> Messages:
        # The mark stands first, so that no two prompts share more than what the chat template puts before them.
        return [
            {"role": "system", "content": f"{mark} {protocol['system']}"},
            {"role": "user", "content": "\n".join([*lines, protocol["question"]])},
        ]

    return sized_prompt(mark, target, build, session.count_tokens).messages


def _ask(session: Session, name: str, messages: Messages, gate: CapacityGate, *, warmup: bool) -> Reply:
    return session.chat(name, messages, max_tokens=gate.max_tokens, warmup=warmup)


def so_far(replies: list[Reply]) -> str:
    """The first-output p50 until now, for the terminal."""
    moments = []
    for reply in succeeded(replies):
        try:
            moments.append(generation_start(reply, "first_output") / 1e9)
        except NoMetricValue:
            continue
    return f", first output p50 {nearest_rank(moments, 50):.2f} s" if moments else ""


def succeeded(replies: list[Reply] | tuple[Reply, ...]) -> list[Reply]:
    return [reply for reply in replies if reply.error_class is None]


def capacity_document(run: CapacityRun, gate: CapacityGate, protocol: dict[str, Any]) -> dict[str, Any]:
    """The lane's figures. Failed requests are counted, named and left out of the statistics, never out of the wall clock."""
    start: GenerationStart = protocol["generation_starts_at"]
    good = succeeded(run.measured)
    return {
        "requested": {
            "context_tokens": gate.context_tokens,
            "requests": gate.requests,
            "warmup": gate.warmup,
            "max_tokens": gate.max_tokens,
        },
        "prompt_target_tokens": run.target,
        "completed": len(good),
        "failed": len(run.measured) - len(good),
        "failures": [
            {
                "request": number,
                "class": reply.error_class,
                "text": (reply.error or "")[:300],
                "finish_reason": reply.finish_reason,
            }
            for number, reply in enumerate(run.measured, start=1)
            if reply.error_class is not None
        ],
        "generation_starts_at": start,
        "decode_label": "combined" if start == "first_output" else "visible",
        "metrics": {metric.tag: vars(summarise(metric, good, start)) for metric in METRICS},
        "aggregate_output_tok_s": aggregate_output(good, run.wall_ns),
        "wall_s": run.wall_ns / 1e9,
        "cache": cache_evidence(run),
    }


def cache_evidence(run: CapacityRun) -> dict[str, Any]:
    """The engine's own count of prompt tokens taken from its cache, before and after."""
    allowed = SHARED_PREFIX_TOKENS * len(run.measured)
    if run.cached_before is None or run.cached_after is None:
        return {
            "before": run.cached_before,
            "after": run.cached_after,
            "hits": None,
            "allowed": allowed,
            "unique": None,
        }
    hits = run.cached_after - run.cached_before
    return {
        "before": run.cached_before,
        "after": run.cached_after,
        "hits": hits,
        "allowed": allowed,
        "unique": hits <= allowed,
    }


def judge_capacity(run: CapacityRun, document: dict[str, Any]) -> tuple[VerdictName, str]:
    """(verdict, reason). Wrong lengths or cache hits make the figures ``inconclusive``: they would not be what their name says."""
    wrong = [
        reply.prompt_tokens
        for reply in run.measured
        if reply.prompt_tokens is not None and not within_tolerance(reply.prompt_tokens, run.target)
    ]
    if wrong:
        return "inconclusive", f"{len(wrong)} prompts are not within 0.5 % of {run.target} tokens (one has {wrong[0]})"
    if document["cache"]["unique"] is False:
        return (
            "inconclusive",
            f"{document['cache']['hits']} prompt tokens came from the engine's cache, {document['cache']['allowed']} are allowed",
        )
    if not document["completed"]:
        return "failed", f"none of {len(run.measured)} requests was answered ({document['failures'][0]['class']})"
    return "passed", f"{document['completed']}/{len(run.measured)} requests answered"
