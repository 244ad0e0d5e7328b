# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From checks to gates, profiles, lanes and hosts: the only place where an outcome is decided. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .._words.suite import Suite
from .._words.verdict import (
    Caveat,
    CheckResult,
    ControlResult,
    GateResult,
    HostOutcome,
    LaneOutcome,
    LaneResult,
    ProfileResult,
    VerdictName,
)

#: What a required gate's verdict makes of the lane, the worst first.
DECISIVE: tuple[tuple[VerdictName, LaneOutcome], ...] = (
    ("failed", "rejected"),
    ("inconclusive", "inconclusive"),
    ("not_run", "inconclusive"),
)


def judge_checks(protocol: str, checks: tuple[CheckResult, ...]) -> GateResult:
    """Required checks decide; an advisory failure is a caveat. Nothing inspected is inconclusive."""
    required = [check for check in checks if check.level == "required"]
    failed = [check for check in required if check.verdict == "failed"]
    unclear = [check for check in required if check.verdict in ("inconclusive", "not_run")]
    if failed:
        return GateResult(protocol, "failed", f"{failed[0].name}: {failed[0].reason}", True, checks)
    if unclear:
        return GateResult(protocol, "inconclusive", f"{unclear[0].name}: {unclear[0].reason}", True, checks)
    if not required:
        return GateResult(protocol, "inconclusive", "no required check was run", True, checks)
    return GateResult(protocol, "passed", f"{len(required)} of {len(required)} required checks passed", True, checks)


def observed_caveats(profiles: Iterable[ProfileResult]) -> tuple[Caveat, ...]:
    """Failed advisory checks, failed gates that are not required, and capacity lanes with failed requests."""
    caveats = []
    for profile in profiles:
        for gate in profile.gates:
            if not gate.required and gate.verdict == "failed":
                caveats.append(Caveat(f"{profile.name}/{gate.protocol}", f"advisory gate failed: {gate.reason}"))
            for check in gate.checks:
                name = f"{profile.name}/{check.name}"
                if check.level == "advisory" and check.verdict != "passed":
                    caveats.append(Caveat(name, f"advisory check {check.verdict}: {check.reason}"))
                caveats += [Caveat(name, text) for text in check.caveats]
    return tuple(caveats)


def judge_lane(
    suite: Suite,
    lane_key: str,
    profiles: tuple[ProfileResult, ...],
    fault: str | None,
    unproven: tuple[str, ...] = (),
    known: tuple[Caveat, ...] = (),
) -> LaneResult:
    """The lane's outcome. ``fault``: an infrastructure fault that ended it, which is never a verdict on the model.

    ``unproven``: settings of the plan that the engine does not tell; a lane that would be qualified with them is inconclusive.
    ``known``: what the proofs before the load left open.
    """
    caveats = tuple(Caveat(item.id, item.text) for item in suite.caveats) + known + observed_caveats(profiles)
    outcome, reason = _outcome(profiles, fault, bool(caveats))
    if unproven and outcome in ("qualified", "qualified_with_caveats"):
        outcome, reason = (
            "inconclusive",
            f"every required gate passed, but the start is not proven: {'; '.join(unproven)}",
        )
    control = None
    if suite.control:
        control = ControlResult(suite.control.expect, _control_met(suite.control.at, outcome, profiles))
    return LaneResult(suite.name, lane_key, outcome, reason, caveats, control, profiles)


def _outcome(profiles: tuple[ProfileResult, ...], fault: str | None, has_caveats: bool) -> tuple[LaneOutcome, str]:
    if fault:
        return "infrastructure", fault
    gates = [(profile.name, gate) for profile in profiles for gate in profile.gates]
    for verdict, outcome in DECISIVE:
        for profile, gate in gates:
            if gate.required and gate.verdict == verdict:
                return outcome, f"{profile}: {gate.protocol} {verdict}: {gate.reason}"
    if not gates:
        return "inconclusive", "no gate was run"
    return ("qualified_with_caveats" if has_caveats else "qualified"), "every required gate passed"


def _control_met(at: str, outcome: LaneOutcome, profiles: tuple[ProfileResult, ...]) -> bool:
    """Caught at its gate, and nothing after that gate was run."""
    if outcome != "rejected":
        return False
    for profile in profiles:
        caught = False
        for gate in profile.gates:
            if caught and gate.verdict != "not_run":
                return False
            caught = caught or (gate.protocol.startswith(f"{at}/") and gate.verdict == "failed")
        if not caught:
            return False
    return bool(profiles)


def judge_host(lanes: Iterable[LaneResult], restored: bool) -> tuple[HostOutcome, str]:
    """The worst of it decides; a control that wasn't caught decides before everything else."""
    lanes = list(lanes)
    for lane in lanes:
        if lane.control and not lane.control.met:
            return (
                "controls_failed",
                f"the control {lane.recipe} was not caught ({lane.outcome}): the gates can't be trusted here",
            )
    if not restored:
        return "infrastructure", "the host is not proven to be as it was before"
    candidates = [lane for lane in lanes if lane.control is None]
    order: tuple[tuple[LaneOutcome, HostOutcome], ...] = (
        ("infrastructure", "infrastructure"), ("rejected", "failed"), ("inconclusive", "inconclusive"), ("not_run", "inconclusive"),
    )  # fmt: skip
    for outcome, result in order:
        found = [lane for lane in candidates if lane.outcome == outcome]
        if found:
            return result, f"{found[0].recipe}: {found[0].outcome}: {found[0].reason}"
    return "passed", f"{len(candidates)} of {len(candidates)} candidates qualified"
