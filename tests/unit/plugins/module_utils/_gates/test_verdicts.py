"""Outcomes: from checks to hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.verdicts import (
    judge_checks,
    judge_host,
    judge_lane,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Control, DeclaredCaveat, Recipe
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import (
    CheckResult,
    GateResult,
    LaneOutcome,
    LaneResult,
    Level,
    ProfileResult,
    VerdictName,
)
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_set

RECIPE: Recipe = read_set(COLLECTION_RECIPES / "demo.toml").recipe[0]
CONTROL = replace(RECIPE, control=Control("rejected", "functional"))


def check(verdict: VerdictName, level: Level = "required", name: str = "c") -> CheckResult:
    return CheckResult(name, level, verdict, "because")


def gate(
    protocol: str, verdict: VerdictName, *, required: bool = True, checks: tuple[CheckResult, ...] = ()
) -> GateResult:
    return GateResult(protocol, verdict, "because", required, checks)


def outcome(*gates: GateResult, recipe: Recipe = RECIPE, fault: str | None = None) -> LaneResult:
    return judge_lane(suite_of(recipe), "key", (ProfileResult("off", gates),) if gates else (), fault)


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ((check("passed"), check("failed", "advisory")), "passed"),
        ((check("passed"), check("failed")), "failed"),
        ((check("failed"), check("inconclusive")), "failed"),
        ((check("passed"), check("inconclusive")), "inconclusive"),
        ((check("passed", "advisory"),), "inconclusive"),
        ((), "inconclusive"),
    ],
)
def test_checks(checks: tuple[CheckResult, ...], verdict: str) -> None:
    assert judge_checks("functional/v1", checks).verdict == verdict


PASSED = gate("functional/v1", "passed")


@pytest.mark.parametrize(
    ("gates", "wanted"),
    [
        ((PASSED, gate("quality/v3", "passed")), "qualified"),
        ((gate("functional/v1", "passed", checks=(check("failed", "advisory"),)),), "qualified_with_caveats"),
        ((PASSED, gate("quality/v3", "failed", required=False)), "qualified_with_caveats"),
        ((gate("functional/v1", "failed"), gate("capacity/v3", "not_run")), "rejected"),
        ((PASSED, gate("capacity/v3", "inconclusive")), "inconclusive"),
        ((PASSED, gate("capacity/v3", "not_run")), "inconclusive"),
        ((), "inconclusive"),
    ],
)
def test_lanes(gates: tuple[GateResult, ...], wanted: str) -> None:
    assert outcome(*gates).outcome == wanted


def test_a_fault_is_never_a_verdict_on_the_model() -> None:
    result = outcome(gate("functional/v1", "failed"), fault="the connection broke")
    assert (result.outcome, result.reason) == ("infrastructure", "the connection broke")


def test_a_declared_caveat_is_carried() -> None:
    result = outcome(PASSED, recipe=replace(RECIPE, caveats=(DeclaredCaveat("kv", "unscaled"),)))
    assert result.outcome == "qualified_with_caveats"
    assert result.caveats[0].id == "kv"


@pytest.mark.parametrize(
    ("gates", "met"),
    [
        ((gate("functional/v1", "failed"), gate("capacity/v3", "not_run")), True),
        ((PASSED, gate("capacity/v3", "failed")), False),
        ((gate("functional/v1", "failed"), gate("capacity/v3", "passed")), False),
        ((PASSED, gate("capacity/v3", "passed")), False),
    ],
)
def test_controls(gates: tuple[GateResult, ...], met: bool) -> None:
    control = outcome(*gates, recipe=CONTROL).control
    assert control is not None
    assert control.met is met


def lane(name: str, result: LaneOutcome) -> LaneResult:
    return LaneResult(name, "key", result, "because")


@pytest.mark.parametrize(
    ("outcomes", "restored", "wanted"),
    [
        (("qualified", "qualified_with_caveats"), True, "passed"),
        (("qualified", "rejected"), True, "failed"),
        (("rejected", "infrastructure"), True, "infrastructure"),
        (("qualified", "inconclusive"), True, "inconclusive"),
        (("not_run",), True, "inconclusive"),
        (("qualified",), False, "infrastructure"),
    ],
)
def test_hosts(outcomes: tuple[LaneOutcome, ...], restored: bool, wanted: str) -> None:
    assert judge_host([lane(str(number), item) for number, item in enumerate(outcomes)], restored)[0] == wanted


def test_an_uncaught_control_fails_whatever_else() -> None:
    missed = outcome(PASSED, recipe=CONTROL)
    caught = outcome(gate("functional/v1", "failed"), recipe=CONTROL)
    assert judge_host([lane("a", "qualified"), missed], True)[0] == "controls_failed"
    assert judge_host([lane("a", "qualified"), caught], True)[0] == "passed"


@pytest.mark.parametrize(
    ("verdict", "fault", "expected"),
    [
        ("passed", None, "inconclusive"),
        ("failed", None, "rejected"),
        ("passed", "the host went away", "infrastructure"),
    ],
)
def test_what_the_engine_does_not_tell_can_not_be_qualified(
    verdict: VerdictName, fault: str | None, expected: LaneOutcome
) -> None:
    """A lane that is rejected or faulty stays so."""
    profiles = (ProfileResult("off", (gate("functional/v1", verdict),)),)
    result = judge_lane(
        suite_of(RECIPE), "key", profiles, fault, ("moe_backend: planned 'marlin', the engine does not tell",)
    )
    assert result.outcome == expected
    assert ("moe_backend" in result.reason) is (expected == "inconclusive")
