# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probe of the collective came to: from the ranks' own lines and NCCL's. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._engine.diagnosis import Finding, diagnose
from .._host.findings import SHM_NEEDED_GIB
from .._host.nccl_log import Judgement, judge
from .._words.plan import LaunchPlan
from .._words.signature import Signature
from .._words.text import plain
from .._words.verdict import VerdictName
from .ranks import MARK, STAGES

#: The next thing after a stage, which is what a rank that hangs has hung at.
HANGS_AT = dict(
    zip(
        STAGES,
        ("importing PyTorch or opening its GPU", "joining the others", "the first collective", "measuring", "leaving"),
        strict=True,
    )
)


@dataclass
class Rank:
    """What one rank said of itself. ``ended``: its exit status, negative for a signal."""

    rank: int
    stage: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    ended: int | None = None
    hung: bool = False

    def describe(self) -> str:
        if self.hung:
            return f"rank {self.rank} hangs at {HANGS_AT.get(self.stage or '', 'its start')}"
        if self.error:
            return f"rank {self.rank} failed after {self.stage or 'its start'}: {plain(self.error, 300)}"
        return f"rank {self.rank} ended with {self.ended} after {self.stage or 'its start'}"


@dataclass(frozen=True)
class ProbeResult:
    """``passed`` only where every rank ended well, every sum was right, the devices are the plan's and the transport is honoured.

    ``bus_gb_s``: bus bandwidth of an all-reduce, the slowest rank's, in GB/s.
    """

    verdict: VerdictName
    reason: str
    ranks: tuple[Rank, ...]
    transport: Judgement
    bus_gb_s: float | None


def judge_probe(output: str, plan: LaunchPlan, signatures: tuple[Signature, ...] = ()) -> ProbeResult:
    """``output``: everything that the ranks have written."""
    count = len(plan.roles)
    ranks = _ranks(output, count)
    transport = judge(output, plan.environment, count)
    finding = diagnose(output, signatures, plan.environment, stalled=True)
    verdict, reason = _verdict(plan, ranks, transport, finding)
    speeds = [float(rank.facts["bus_gb_s"]) for rank in ranks if rank.facts.get("bus_gb_s") is not None]
    return ProbeResult(verdict, reason, tuple(ranks), transport, min(speeds) if len(speeds) == count else None)


def _ranks(output: str, count: int) -> list[Rank]:
    ranks = [Rank(number) for number in range(count)]
    for line in output.splitlines():
        _before, mark, text = line.partition(MARK)
        try:
            said = json.loads(text) if mark else None
        except ValueError:
            continue
        if (
            not isinstance(said, dict)
            or not isinstance(number := said.pop("rank", None), int)
            or not 0 <= number < count
        ):
            continue
        rank = ranks[number]
        rank.stage = said.pop("stage", None) or rank.stage
        rank.error = said.pop("error", None) or rank.error
        rank.hung = bool(said.pop("hung", rank.hung))
        rank.ended = said.pop("ended", rank.ended)
        rank.facts |= said
    return ranks


def _verdict(
    plan: LaunchPlan, ranks: list[Rank], transport: Judgement, finding: Finding | None
) -> tuple[VerdictName, str]:
    """The first that applies, the cause before its consequences."""
    wrong = [rank for rank in ranks if rank.facts.get("wrong")]
    if wrong:
        return (
            "failed",
            f"the collective computed wrong sums: {wrong[0].facts['wrong']} of {wrong[0].facts['elements']} elements at rank {wrong[0].rank}",
        )
    bad = [rank for rank in ranks if rank.hung or rank.error or rank.ended != 0]
    if bad:
        # What broke one rank leaves the others waiting.
        first = sorted(bad, key=lambda rank: (rank.hung, rank.error is None))[0]
        violation = transport.reasons[0] if transport.verdict == "violated" else None
        cause = finding.sentence() if finding else violation
        states = "; ".join(rank.describe() for rank in (first, *(other for other in bad if other is not first)))
        return "failed", f"{states}{f'. {cause}' if cause else ''}"
    planned, seen = sorted(plan.roles.values()), sorted(str(rank.facts.get("uuid")) for rank in ranks)
    if planned != seen:
        return "failed", f"the ranks see the devices {', '.join(seen)}, the roles are {', '.join(planned)}"
    sizes = [float(rank.facts["shm_gib"]) for rank in ranks if rank.facts.get("shm_gib") is not None]
    if sizes and min(sizes) < SHM_NEEDED_GIB:
        size = f"{min(sizes):g} GiB, {SHM_NEEDED_GIB:g} GiB or more is needed"
        where = "limits.shm_gib; with ipc host, of the machine that Docker runs on; for a process, the host's"
        return "failed", f"/dev/shm where the ranks run has {size} ({where})"
    if transport.verdict == "violated":
        return "failed", "; ".join(transport.reasons)
    if transport.verdict == "undetermined":
        return "inconclusive", "; ".join(transport.reasons)
    return "passed", transport.reasons[0]


def as_evidence(result: ProbeResult) -> Mapping[str, Any]:
    """For nccl.json."""
    return {
        "verdict": result.verdict,
        "reason": result.reason,
        "bus_gb_s": result.bus_gb_s,
        "ranks": result.ranks,
        "transport": result.transport,
    }
