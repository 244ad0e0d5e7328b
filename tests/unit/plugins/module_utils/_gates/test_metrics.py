"""Formulas, and what happens where a value is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.metrics import (
    Decode,
    EndToEnd,
    FirstOutput,
    FirstVisible,
    NoMetricValue,
    Prefill,
    aggregate_output,
    nearest_rank,
    quantile_interval,
    summarise,
)  # fmt: skip
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply

S = 1_000_000_000


def reply(
    *,
    output: int | None = 1 * S,
    visible: int | None = 3 * S,
    last: int | None = 5 * S,
    prompt: int | None = 100,
    tokens: int | None = 41,
) -> Reply:
    return Reply(
        200,
        6 * S,
        content="x",
        prompt_tokens=prompt,
        completion_tokens=tokens,
        first_output_ns=output,
        first_visible_ns=visible,
        last_output_ns=last,
    )


def test_the_two_starts() -> None:
    assert Prefill().value(reply(), "first_visible") == pytest.approx(100 / 3)
    assert Prefill().value(reply(), "first_output") == 100
    assert Decode().value(reply(), "first_visible") == 20
    assert Decode().value(reply(), "first_output") == 10
    assert FirstOutput().value(reply(), "first_visible") == 1
    assert FirstVisible().value(reply(), "first_output") == 3
    assert EndToEnd().value(reply(), "first_output") == 6


@pytest.mark.parametrize(
    ("metric", "broken"),
    [
        (FirstVisible(), reply(visible=None)),
        (Prefill(), reply(prompt=None)),
        (Decode(), reply(tokens=None)),
        (Decode(), reply(tokens=1)),
        (Decode(), reply(last=3 * S)),
    ],
)
def test_a_missing_value_is_no_value(metric: Decode, broken: Reply) -> None:
    with pytest.raises(NoMetricValue):
        metric.value(broken, "first_visible")


def test_times_that_run_backwards_are_a_fault() -> None:
    with pytest.raises(ValueError, match="before the generation"):
        Decode().value(reply(last=2 * S), "first_visible")


def test_nearest_rank_takes_the_lower_of_two_middles() -> None:
    assert nearest_rank([4, 1, 3, 2], 50) == 2
    assert nearest_rank(range(1, 101), 95) == 95
    with pytest.raises(NoMetricValue):
        nearest_rank([], 50)


@pytest.mark.parametrize(("n", "p95", "p99"), [(12, False, False), (20, True, False), (100, True, True)])
def test_a_quantile_needs_its_samples(n: int, p95: bool, p99: bool) -> None:
    summary = summarise(FirstOutput(), [reply(output=index * S) for index in range(1, n + 1)], "first_output")
    assert summary.n == n
    assert (summary.p95 is not None, summary.p99 is not None) == (p95, p99)


def test_missing_values_are_counted() -> None:
    summary = summarise(FirstVisible(), [reply(), reply(visible=None)], "first_visible")
    assert (summary.n, summary.missing) == (1, 1)


def test_aggregate_has_the_whole_wall_clock_and_no_guess() -> None:
    assert aggregate_output([reply(tokens=10), reply(tokens=30)], 4 * S) == 10
    assert aggregate_output([reply(tokens=None)], 4 * S) is None
    assert aggregate_output([], 4 * S) is None


def test_tokens_that_the_server_counted_before_the_clock_started_are_not_counted_again() -> None:
    counted = replace(reply(), tokens_at_first_output=5, tokens_at_first_visible=11)
    assert Decode().value(counted, "first_visible") == 15
    assert Decode().value(counted, "first_output") == 9
    impossible = replace(reply(), tokens_at_first_output=41, tokens_at_first_visible=0)
    assert [Decode().value(impossible, start) for start in ("first_visible", "first_output")] == [20, 10]


def test_intervals_are_as_wide_as_so_few_values_make_them() -> None:
    """Ranks from tables of the binomial distribution: n 12: 3 and 10 for the median; n 100: 40 and 61; p95 of 20 has no upper end."""
    assert quantile_interval(range(1, 13), 50) == (3, 10)
    assert quantile_interval(range(1, 101), 50) == (40, 61)
    assert quantile_interval(range(1, 21), 95) == (17, None)
    assert quantile_interval(range(1, 101), 95) == (90, 100)
    assert quantile_interval([1.0, 2.0], 50) == (None, None)
    assert quantile_interval([], 95) == (None, None)
