# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics: arithmetic on one reply or on a lane, one small class each with its formula. A missing value is no value, never 0."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from .._words.events import Reply

NS = 1_000_000_000
#: p95 needs 20 samples, p99 a hundred: below, the figure would be the maximum in disguise.
QUANTILE_NEEDS = {50: 1, 90: 10, 95: 20, 99: 100}
INTERVAL_TAIL = 0.025
ESTIMATOR = "nearest-rank"
GenerationStart = Literal["first_visible", "first_output"]


class NoMetricValue(Exception):
    """This reply has no such value; the text says why."""


class Metric(ABC):
    """A value of one reply. ``value`` raises :class:`NoMetricValue` where there is none, ``ValueError`` where times run backwards."""

    tag: ClassVar[str]
    unit: ClassVar[str]
    #: Whether it rests on moments inside the stream, which a stream that was held back doesn't have.
    from_moments: ClassVar[bool] = True

    @abstractmethod
    def value(self, reply: Reply, start: GenerationStart) -> float:
        """The value in ``unit``."""


def generation_start(reply: Reply, start: GenerationStart) -> int:
    """capacity/v3 begins generation at the first visible content, capacity/v4-reasoning at the first output of any kind."""
    moment = reply.first_visible_ns if start == "first_visible" else reply.first_output_ns
    if moment is None:
        raise NoMetricValue(f"no {start.replace('_', ' ')} was observed")
    return moment


class FirstOutput(Metric):
    """Formula: first non-empty reasoning, content or tool delta − request sent."""

    tag, unit = "first_output_s", "s"

    def value(self, reply: Reply, start: GenerationStart) -> float:
        return generation_start(reply, "first_output") / NS


class FirstVisible(Metric):
    """Formula: first non-empty content − request sent (TTFT of the visible answer)."""

    tag, unit = "first_visible_s", "s"

    def value(self, reply: Reply, start: GenerationStart) -> float:
        return generation_start(reply, "first_visible") / NS


class Prefill(Metric):
    """Formula: prompt tokens / generation start. Includes queueing and the first token's own work: an effective rate."""

    tag, unit = "prefill_tok_s", "tok/s"

    def value(self, reply: Reply, start: GenerationStart) -> float:
        if reply.prompt_tokens is None:
            raise NoMetricValue("the engine gave no prompt token count")
        moment = generation_start(reply, start)
        if moment <= 0:
            raise ValueError("the first output is not after the request")
        return reply.prompt_tokens / (moment / NS)


class Decode(Metric):
    """Formula: (completion tokens − k) / (last output − generation start). With v4-reasoning it is a combined rate.

    k are the tokens up to and with the delta that starts it, where the server counts along; 1 else, and then the lane's document has the bound.
    """

    tag, unit = "decode_tok_s", "tok/s"

    def value(self, reply: Reply, start: GenerationStart) -> float:
        if reply.completion_tokens is None:
            raise NoMetricValue("the engine gave no completion token count")
        if reply.completion_tokens < 2 or reply.last_output_ns is None:
            raise NoMetricValue("fewer than two tokens: no interval to measure")
        span = reply.last_output_ns - generation_start(reply, start)
        if span < 0:
            raise ValueError("the last output is before the generation's start")
        if span == 0:
            raise NoMetricValue("all output came at one instant")
        return (reply.completion_tokens - (counted_before(reply, start) or 1)) / (span / NS)


def counted_before(reply: Reply, start: GenerationStart) -> int | None:
    """Tokens that had been made when the clock of the decode rate started, by the server's own count; None where it doesn't say or can't be right."""
    counted = reply.tokens_at_first_visible if start == "first_visible" else reply.tokens_at_first_output
    total = reply.completion_tokens
    return counted if counted is not None and total is not None and 1 <= counted < total else None


class PromptTokens(Metric):
    """Formula: usage.prompt_tokens."""

    tag, unit = "prompt_tokens", "tokens"
    from_moments = False

    def value(self, reply: Reply, start: GenerationStart) -> float:
        if reply.prompt_tokens is None:
            raise NoMetricValue("the engine gave no prompt token count")
        return float(reply.prompt_tokens)


class EndToEnd(Metric):
    """Formula: end of the body − request sent."""

    tag, unit = "e2e_s", "s"
    from_moments = False

    def value(self, reply: Reply, start: GenerationStart) -> float:
        return reply.end_ns / NS


class RequestRate(Metric):
    """Formula: completion tokens / end of the body. Holds its prefill, too; it is what remains where a stream was held back."""

    tag, unit = "request_tok_s", "tok/s"
    from_moments = False

    def value(self, reply: Reply, start: GenerationStart) -> float:
        if reply.completion_tokens is None:
            raise NoMetricValue("the engine gave no completion token count")
        return reply.completion_tokens / (reply.end_ns / NS)


METRICS: tuple[Metric, ...] = (
    PromptTokens(), FirstOutput(), FirstVisible(), Prefill(), Decode(), EndToEnd(), RequestRate(),
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """One metric over a lane. A quantile whose n is too small is None; ``missing`` counts replies without a value.

    ``p50_interval``, ``p95_interval``: where the quantile of the whole population lies with 95 % confidence, as (lower, upper); an end that so few
    values can't bound is None.
    """

    unit: str
    n: int
    missing: int
    estimator: str
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    minimum: float | None
    maximum: float | None
    p50_interval: tuple[float | None, float | None]
    p95_interval: tuple[float | None, float | None]


def nearest_rank(values: Sequence[float], percent: float) -> float:
    """The value at rank ceil(percent/100 × n) of the sorted values, counted from 1 (Hyndman and Fan's definition 1)."""
    if not values:
        raise NoMetricValue("no values")
    ordered = sorted(values)
    return ordered[max(1, math.ceil(percent / 100 * len(ordered))) - 1]


def quantile_interval(values: Sequence[float], percent: float) -> tuple[float | None, float | None]:
    """Two order statistics that hold the population's quantile with 95 % confidence, whatever its distribution (binomial tails of 2.5 % each).

    The lower end is value number l with P(fewer than l of n lie below the quantile) <= 2.5 %, the upper one likewise; None where no value does.
    """
    ordered, share = sorted(values), percent / 100
    n = len(ordered)
    below = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    up_to = [sum(below[: k + 1]) for k in range(n + 1)]
    lower = max((rank for rank in range(1, n + 1) if up_to[rank - 1] <= INTERVAL_TAIL), default=None)
    upper = min((rank for rank in range(1, n + 1) if 1 - up_to[rank - 1] <= INTERVAL_TAIL), default=None)
    return (None if lower is None else ordered[lower - 1]), (None if upper is None else ordered[upper - 1])


def summarise(metric: Metric, replies: Iterable[Reply], start: GenerationStart, *, left_out: int = 0) -> Summary:
    """The metric over successful, measured replies. The caller leaves out warm-ups and failures, and says how many successful ones (``left_out``)."""
    values: list[float] = []
    missing = left_out
    for reply in replies:
        try:
            values.append(metric.value(reply, start))
        except NoMetricValue:
            missing += 1
    quantiles = {
        percent: nearest_rank(values, percent) if len(values) >= needed else None
        for percent, needed in QUANTILE_NEEDS.items()
    }
    return Summary(
        metric.unit, len(values), missing, ESTIMATOR, quantiles[50], quantiles[90], quantiles[95], quantiles[99],
        min(values, default=None), max(values, default=None), quantile_interval(values, 50), quantile_interval(values, 95),
    )  # fmt: skip


def aggregate_output(replies: Iterable[Reply], wall_ns: int) -> float | None:
    """Completion tokens of successful requests / wall clock of the whole lane, failed requests' time included; tok/s."""
    counts = [reply.completion_tokens for reply in replies]
    if not counts or wall_ns <= 0 or any(count is None for count in counts):
        return None
    return sum(count for count in counts if count is not None) / (wall_ns / NS)
