"""The factor between two sets of values: against a published example, against counting, and against what it promises."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from ansible_collections.tandem.campaign.plugins.plugin_utils.shift import lower_rank, ratio_of, u_counts


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (4, 4), (3, 5)])
def test_orders_are_counted_as_by_hand(n: int, m: int) -> None:
    counted = [0] * (n * m + 1)
    for places in itertools.combinations(range(n + m), n):
        counted[sum(places) - n * (n - 1) // 2] += 1
    assert u_counts(n, m) == counted
    assert sum(counted) == math.comb(n + m, n)


def test_a_published_example() -> None:
    """Water's permeability of membranes (Hollander and Wolfe, table 4.1): shift -0.305, 95 % interval -0.76 to 0.15, as R's wilcox.test has it."""
    term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    found = ratio_of([math.exp(value) for value in term], [math.exp(value) for value in early])
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert math.log(found.estimate) == pytest.approx(-0.305, abs=1e-4)
    assert [math.log(found.low), math.log(found.high)] == pytest.approx([-0.76, 0.15])


def test_few_values_bound_nothing() -> None:
    assert lower_rank(3, 3) == 0
    assert lower_rank(4, 4) == 1
    found = ratio_of([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    assert found is not None
    assert (found.estimate, found.low, found.high) == (2.0, None, None)


@pytest.mark.parametrize("values", [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0])])
def test_no_factor_without_positive_values(values: tuple[list[float], list[float]]) -> None:
    assert ratio_of(*values) is None


def test_the_interval_holds_the_factor_as_often_as_it_says() -> None:
    chance = random.Random(7)
    held = 0
    for _round in range(400):
        before = [math.exp(chance.gauss(0, 0.1)) for _value in range(12)]
        after = [1.2 * math.exp(chance.gauss(0, 0.1)) for _value in range(12)]
        found = ratio_of(before, after)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.2 <= found.high
    assert held >= 0.93 * 400
