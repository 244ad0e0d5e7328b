"""Steps that wait for each other: at once where they may, in order where they must, and not at all behind a failure."""

from __future__ import annotations

import threading

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.schedule import run_steps


def test_independent_steps_run_at_once() -> None:
    """Each waits until the other has begun: in turn they would never end."""
    both = threading.Barrier(2, timeout=5)
    outcome = run_steps({"a": (), "b": ()}, lambda _name: both.wait(), go_on=False)
    assert set(outcome.results) == {"a", "b"}


def test_a_step_waits_for_those_it_names_and_for_no_other() -> None:
    order: list[str] = []
    slow = threading.Event()

    def act(name: str) -> None:
        if name == "slow":
            slow.wait(5)
        order.append(name)
        if name == "after quick":
            slow.set()

    outcome = run_steps(
        {"slow": (), "quick": (), "after quick": ("quick",), "after both": ("slow", "quick")}, act, go_on=False
    )
    assert order == ["quick", "after quick", "slow", "after both"]
    assert not outcome.failures


def fail_b(name: str) -> str:
    if name == "b":
        raise ValueError("b is broken")
    return name


STEPS = {"a": (), "b": ("a",), "c": ("b",), "d": ("a",), "e": ("d",)}


def test_giving_back_goes_on_beside_a_failure() -> None:
    outcome = run_steps(STEPS, fail_b, go_on=True)
    assert set(outcome.results) == {"a", "d", "e"}
    assert (str(outcome.failures["b"]), outcome.skipped) == ("b is broken", {"c": "b"})


def test_taking_begins_nothing_more_after_a_failure() -> None:
    outcome = run_steps({"a": (), "b": ("a",), "c": ("b",), "f": ("c",)}, fail_b, go_on=False)
    assert set(outcome.results) == {"a"}
    assert outcome.skipped == {"c": "b", "f": "b"}


def test_what_is_not_among_the_steps_counts_as_done() -> None:
    assert run_steps({"a": ("elsewhere",)}, str.upper, go_on=True).results == {"a": "A"}


def test_a_death_is_no_failure() -> None:
    class Died(BaseException):
        pass

    def die(_name: str) -> None:
        raise Died

    with pytest.raises(Died):
        run_steps({"a": ()}, die, go_on=True)
