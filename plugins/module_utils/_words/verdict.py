# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: what a check, a gate, a profile, a lane and a host came to, each with its reason. Never a bare bool."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

VerdictName = Literal["passed", "failed", "inconclusive", "not_run"]
LaneOutcome = Literal["qualified", "qualified_with_caveats", "rejected", "inconclusive", "infrastructure", "not_run"]
HostOutcome = Literal["passed", "failed", "inconclusive", "infrastructure", "controls_failed"]
Level = Literal["required", "advisory"]

#: A lane with one of these outcomes is not run again while its key and its packet hold.
COMPLETE_OUTCOMES: tuple[LaneOutcome, ...] = ("qualified", "qualified_with_caveats", "rejected")

VERDICT_SCHEMA = "tandem.verdict/v1"


@dataclass(frozen=True)
class CheckResult:
    """One probe inside a gate. ``rows`` are the indexes of its requests in ``rows.jsonl``; ``caveats`` has what a pass has beside it."""

    name: str
    level: Level
    verdict: VerdictName
    reason: str
    rows: tuple[int, ...] = ()
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError(f"check {self.name}: a verdict needs its reason")


@dataclass(frozen=True)
class GateResult:
    """One protocol run for one profile."""

    protocol: str
    verdict: VerdictName
    reason: str
    required: bool
    checks: tuple[CheckResult, ...] = ()

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError(f"gate {self.protocol}: a verdict needs its reason")


@dataclass(frozen=True)
class ProfileResult:
    """All gates of one reasoning profile, in the order they ran."""

    name: str
    gates: tuple[GateResult, ...]


@dataclass(frozen=True)
class Caveat:
    """Something a reader has to know beside the outcome: declared in the recipe, or a failed advisory check."""

    id: str
    text: str


@dataclass(frozen=True)
class ControlResult:
    """Whether a negative control was caught where it had to be."""

    expect: str
    met: bool


@dataclass(frozen=True)
class LaneResult:
    """One recipe on one host."""

    recipe: str
    lane_key: str | None
    outcome: LaneOutcome
    reason: str
    caveats: tuple[Caveat, ...] = ()
    control: ControlResult | None = None
    profiles: tuple[ProfileResult, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError(f"lane {self.recipe}: an outcome needs its reason")


@dataclass(frozen=True)
class RestoreResult:
    """Whether the host is as it was: the number of differences between the state before and after."""

    verdict: VerdictName
    reason: str
    diff_count: int | None
