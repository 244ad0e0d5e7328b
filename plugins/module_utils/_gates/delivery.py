# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a stream came as it was made: what was held back and flushed has an end, but no moments to time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._words.events import Reply

#: Below this many tokens nothing can be said of the way they came.
MIN_TOKENS = 16
#: Everything within this time was made before: 16 tokens in 5 ms are 3,200 a second for a single request.
BUFFERED_NS = 5_000_000
#: Engines send a delta a token or, at a stream interval, one for k tokens; fewer deltas than this a token need even sizes to be believed.
MIN_DELTAS_A_TOKEN = 0.5
MAX_DELTA_SHARE = 0.1
#: The decode formula counts the first delta's k tokens as if only one had come before the clock: it overstates by (k - 1) / (n - k).
MAX_OVERSTATEMENT = 0.02
#: What a chat template puts before our own first words may be shared by all prompts; more than this is a cache hit.
SHARED_PREFIX_TOKENS = 16


def overstatement(reply: Reply) -> float | None:
    """By which share of itself the decode rate is too high at most, with k from the first delta's part of the output's characters; None where unknown.

    0 where the server counts along: its count is in the formula.
    """
    n = reply.completion_tokens
    if reply.tokens_at_first_output is not None:
        return 0.0
    if n is None or n < 2 or reply.first_share is None:
        return None
    k = max(1.0, reply.first_share * n)
    return (k - 1) / (n - k) if n > k else None


def untrusted_timing(reply: Reply, *, speculative: bool) -> str | None:
    """Why first output, first visible and the rates from them are not measurements. ``speculative``: several tokens a step are declared."""
    tokens, first, last = reply.completion_tokens, reply.first_output_ns, reply.last_output_ns
    if tokens is None or tokens < MIN_TOKENS or first is None or last is None:
        return None
    span = last - first
    if span < BUFFERED_NS:
        return f"the stream was buffered: {reply.chunks} deltas with {tokens} tokens came within {span / 1e6:.1f} ms"
    even = (reply.largest_share or 1.0) <= MAX_DELTA_SHARE and (overstatement(reply) or 0.0) <= MAX_OVERSTATEMENT
    if not speculative and reply.chunks / tokens < MIN_DELTAS_A_TOKEN and not even:
        return f"burst delivery: {reply.chunks} deltas for {tokens} tokens, the largest with {reply.largest_share or 1:.0%} of the text"
    return None


def is_warm(reply: Reply) -> bool:
    """Whether more of the prompt came from the engine's cache than a chat template's own words."""
    return (reply.cached_tokens or 0) > SHARED_PREFIX_TOKENS


@dataclass(frozen=True)
class Delivery:
    """A lane's successful replies by what may be timed: ``timed`` are cold and came as they were made."""

    timed: tuple[Reply, ...]
    warm: tuple[Reply, ...]
    untrusted: tuple[str, ...]

    def as_document(self) -> dict[str, Any]:
        return {
            "timed": len(self.timed),
            "warm": len(self.warm),
            "warm_cached_share": cached_share(self.warm),
            "untrusted": len(self.untrusted),
            "reasons": sorted(set(self.untrusted)),
            "decode_overstated_by_at_most": max(
                (bound for reply in self.timed if (bound := overstatement(reply)) is not None), default=None
            ),
        }


def delivery_of(replies: Iterable[Reply], *, speculative: bool) -> Delivery:
    """Sorts successful replies."""
    timed, warm, untrusted = [], [], []
    for reply in replies:
        problem = untrusted_timing(reply, speculative=speculative)
        if problem:
            untrusted.append(problem)
        elif is_warm(reply):
            warm.append(reply)
        else:
            timed.append(reply)
    return Delivery(tuple(timed), tuple(warm), tuple(untrusted))


def cached_share(replies: Iterable[Reply]) -> float | None:
    """Cached tokens / prompt tokens over all replies that tell both."""
    told = [(reply.cached_tokens or 0, reply.prompt_tokens) for reply in replies if reply.prompt_tokens]
    total = sum(prompt for _cached, prompt in told)
    return sum(cached for cached, _prompt in told) / total if total else None


def cache_evidence(before: int | None, after: int | None, requests: int) -> dict[str, Any]:
    """The engine's own count of prompt tokens taken from its cache, before and after ``requests``; ``unique`` is None where it doesn't count."""
    hits = None if before is None or after is None else after - before
    allowed = SHARED_PREFIX_TOKENS * requests
    return {
        "before": before,
        "after": after,
        "hits": hits,
        "allowed": allowed,
        "unique": None if hits is None else hits <= allowed,
    }
