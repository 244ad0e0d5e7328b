# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By which factor one set of values is above another, and how sure that is. Pure arithmetic."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

TAIL = 0.025
METHOD = (
    "Hodges-Lehmann estimate of the factor (the median of all ratios between a value after and one before), with Moses's 95 % interval from the exact "
    "distribution of Mann and Whitney's U"
)


@dataclass(frozen=True)
class Ratio:
    """after / before. ``low``, ``high``: None where so few values bound nothing."""

    estimate: float
    low: float | None
    high: float | None


def ratio_of(before: Sequence[float], after: Sequence[float]) -> Ratio | None:
    """None where a side has no values, or one that isn't positive.

    No distribution is assumed, only that the two differ by a factor. Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods,
    3rd ed., 4.2 and 4.3, on logarithms.
    """
    if not before or not after or min(*before, *after) <= 0:
        return None
    ratios = sorted(new / old for new in after for old in before)
    rank = lower_rank(len(before), len(after))
    low, high = (ratios[rank - 1], ratios[-rank]) if rank else (None, None)
    return Ratio(statistics.median(ratios), low, high)


def lower_rank(n: int, m: int) -> int:
    """The largest k with P(U <= k - 1) <= 2.5 % under equality; 0 where there is none. Ratio number k and the k-th from above bound the interval."""
    ways, rank, total = u_counts(n, m), 0, 0
    limit = TAIL * math.comb(n + m, n)
    for count in ways:
        total += count
        if total > limit:
            return rank
        rank += 1
    return rank


def u_counts(n: int, m: int) -> list[int]:
    """In how many of the orders of n + m values U is 0, 1, …, n × m: the coefficients of the Gaussian binomial."""
    ways = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for at in range(n * m, m + i - 1, -1):
            ways[at] -= ways[at - m - i]
        for at in range(i, n * m + 1):
            ways[at] += ways[at - i]
    return ways
