# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capacity: one request at a time, prompts of an exact length that share nothing, timed at the client."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .._evidence.record import utc
from .._words.events import Reply
from .._words.profile import CapacityGate
from .._words.verdict import CheckResult, VerdictName
from .delivery import Delivery, cache_evidence, delivery_of
from .metrics import (
    METRICS,
    GenerationStart,
    NoMetricValue,
    aggregate_output,
    generation_start,
    nearest_rank,
    summarise,
)
from .prompts import Messages, nonce, target_tokens, unique_prompt, within_tolerance
from .session import Session

#: A first request that took this many times the median to its first output has paid for something else, compilation mostly.
SLOW_FIRST = 3.0


@dataclass(frozen=True)
class CapacityRun:
    """All replies of a lane, warm-ups apart, and what surrounds them. ``began_at``: when the lane's clock started, in UTC."""

    warmups: tuple[Reply, ...]
    measured: tuple[Reply, ...]
    target: int
    wall_ns: int
    began_at: str
    cached_before: int | None
    cached_after: int | None


def run_capacity(session: Session, gate: CapacityGate, protocol: dict[str, Any]) -> CapacityRun:
    """Warm-ups first, then the measured requests; all prompts are built before the clock of the lane starts."""
    target, name = target_tokens(gate, protocol), check_name(gate)
    prompts = []
    for number in range(gate.warmup + gate.requests):
        session.tell("capacity", f"building prompt {number + 1}/{gate.warmup + gate.requests} of {target} tokens")
        mark = nonce(session.seed, session.profile, target, number)
        prompts.append(unique_prompt(mark, protocol, target, session.count_tokens))
    warmups = tuple(_ask(session, name, prompts[number], gate, warmup=True) for number in range(gate.warmup))
    cached_before = session.adapter.cached_prompt_tokens(session.client)
    measured: list[Reply] = []
    began_at, start = utc(time.time()), time.monotonic_ns()
    for number, messages in enumerate(prompts[gate.warmup :], start=1):
        measured.append(_ask(session, name, messages, gate, warmup=False))
        session.tell(
            "capacity", f"capacity {number}/{gate.requests}{so_far(measured)}", done=number, total=gate.requests
        )
    wall_ns = time.monotonic_ns() - start
    return CapacityRun(
        warmups,
        tuple(measured),
        target,
        wall_ns,
        began_at,
        cached_before,
        session.adapter.cached_prompt_tokens(session.client),
    )


def check_name(gate: CapacityGate) -> str:
    """How a lane's rows are marked."""
    return f"capacity-{gate.context_tokens}"


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


def output_tokens(run: CapacityRun) -> int | None:
    """Completion tokens of the successful measured requests; None where one wasn't counted."""
    counts = [reply.completion_tokens for reply in succeeded(run.measured)]
    return None if not counts or None in counts else sum(count for count in counts if count is not None)


def capacity_document(
    run: CapacityRun, gate: CapacityGate, protocol: dict[str, Any], *, speculative: bool = False
) -> dict[str, Any]:
    """The lane's figures. Failed requests are counted, named and left out of the statistics, never out of the wall clock.

    Warm requests, and streams that did not come as they were made, are left out of what rests on moments, and counted.
    """
    start: GenerationStart = protocol["generation_starts_at"]
    good = succeeded(run.measured)
    delivery = delivery_of(good, speculative=speculative)
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
        "metrics": _metrics(good, delivery, start),
        "delivery": delivery.as_document(),
        "warm_first_output_p50_s": _median_first_output(delivery.warm),
        "first_request": first_request(run),
        "aggregate_output_tok_s": aggregate_output(good, run.wall_ns),
        "wall_s": run.wall_ns / 1e9,
        "began_at": run.began_at,
        "cache": cache_evidence(run.cached_before, run.cached_after, len(run.measured)),
    }


def _metrics(good: list[Reply], delivery: Delivery, start: GenerationStart) -> dict[str, Any]:
    left_out = len(good) - len(delivery.timed)
    return {
        metric.tag: vars(
            summarise(metric, delivery.timed, start, left_out=left_out)
            if metric.from_moments
            else summarise(metric, good, start)
        )
        for metric in METRICS
    }


def _median_first_output(replies: tuple[Reply, ...]) -> float | None:
    return (
        nearest_rank([reply.first_output_ns / 1e9 for reply in replies if reply.first_output_ns], 50)
        if replies
        else None
    )


def first_request(run: CapacityRun) -> dict[str, Any] | None:
    """The first answered request of the lane: it may have paid for compilation. A warm-up is outside of the statistics, a measured one inside."""
    replies = (*run.warmups, *run.measured)
    moments = [reply.first_output_ns / 1e9 for reply in succeeded(run.measured) if reply.first_output_ns]
    if not moments or replies[0].first_output_ns is None:
        return None
    first, median = replies[0].first_output_ns / 1e9, nearest_rank(moments, 50)
    return {
        "warmup": bool(run.warmups),
        "first_output_s": first,
        "slow": first > SLOW_FIRST * median,
        "median_s": median,
    }


def slow_first(document: dict[str, Any]) -> str | None:
    """The note that a slow first request inside the statistics needs."""
    first = document["first_request"]
    if not first or first["warmup"] or not first["slow"]:
        return None
    return (
        f"the first request after the load took {first['first_output_s']:.2f} s to its first output, the median is {first['median_s']:.2f} s; "
        "it is in the statistics, as no warm-up was asked for"
    )


def judge_capacity(run: CapacityRun, document: dict[str, Any]) -> tuple[VerdictName, str]:
    """(verdict, reason). Wrong lengths or cache hits make the figures ``inconclusive``: they would not be what their name says."""
    wrong = [
        reply.prompt_tokens
        for reply in run.measured
        if reply.prompt_tokens is not None and not within_tolerance(reply.prompt_tokens, run.target)
    ]
    if wrong:
        off = abs(wrong[0] - run.target) / run.target
        return (
            "inconclusive",
            f"{len(wrong)} prompts are not within 0.5 % of the {run.target} tokens asked for (one has {wrong[0]}, {off:.2%} off): the length was not reached",
        )
    good, delivery = succeeded(run.measured), document["delivery"]
    if delivery["warm"]:
        share = document["delivery"]["warm_cached_share"]
        return (
            "inconclusive",
            f"{delivery['warm']} of {len(good)} prompts were warm ({share:.1%} of their tokens from the engine's cache): "
            f"what is said of cold prompts rests on {delivery['timed']}",
        )
    if document["cache"]["unique"] is False:
        return (
            "inconclusive",
            f"{document['cache']['hits']} prompt tokens came from the engine's cache, {document['cache']['allowed']} are allowed",
        )
    if not document["completed"]:
        return "failed", f"none of {len(run.measured)} requests was answered ({document['failures'][0]['class']})"
    if delivery["untrusted"]:
        return (
            "inconclusive",
            f"{delivery['untrusted']} of {len(good)} streams can't be timed: {delivery['reasons'][0]}; end-to-end times and token counts are kept",
        )
    untold = sum(reply.completion_tokens is None for reply in good)
    if untold:
        return (
            "inconclusive",
            f"{untold} of {len(good)} answers carried no usage: without token counts there is no rate",
        )
    return "passed", f"{document['completed']}/{len(run.measured)} requests answered"


def capacity_checks(document: dict[str, Any]) -> tuple[CheckResult, ...]:
    """What has to be said beside a lane's figures."""
    checks = []
    if document["failed"]:
        text = f"{document['failed']} of {document['requested']['requests']} requests failed: {document['failures'][0]['class']}"
        checks.append(CheckResult("requests", "advisory", "failed", text))
    note = slow_first(document)
    if note:
        checks.append(CheckResult("first_request", "advisory", "passed", "kept and labelled", caveats=(note,)))
    return tuple(checks)
