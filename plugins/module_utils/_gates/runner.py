# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a lane's gates in order: functional first; what is corrupt, repetitive or silent is never timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .._api.client import Client
from .._engine.adapters import adapter_for
from .._evidence.record import artifact
from .._evidence.store import Lines, write_json
from .._words.documents import to_document
from .._words.errors import CampaignError
from .._words.events import Reply
from .._words.identity import Identity
from .._words.recipe import CapacityGate, FunctionalGate, Profile, QualityGate, Recipe
from .._words.verdict import CheckResult, GateResult, Level, ProfileResult, VerdictName
from .capacity import CapacityRun, capacity_document, judge_capacity, run_capacity, slow_first
from .channels import channel_facts
from .finding import parser_arguments
from .functional import run_check
from .quality import area_scores, run_task
from .session import Session
from .verdicts import judge_checks

Tell = Callable[..., None]


@dataclass
class LaneGates:
    """One lane's gates against one loaded engine. Artifacts go to ``folder`` as soon as they are complete."""

    recipe: Recipe
    protocols: dict[str, dict[str, Any]]
    base_url: str
    folder: Path
    identity: Identity
    seed: str
    tell: Tell
    intrusions: Callable[[float], list[str]]
    key_file: str | None = None
    functional_records: list[dict[str, Any]] = field(default_factory=list)
    quality_records: list[dict[str, Any]] = field(default_factory=list)
    capacity_count: int = 0

    def run(self) -> tuple[tuple[ProfileResult, ...], str | None]:
        """All profiles' results, and the infrastructure fault that ended the run early, if one did."""
        rows = Lines(self.folder / "rows.jsonl", artifact("rows", self.identity, {}))
        results: list[ProfileResult] = []
        fault: str | None = None
        index = 0
        try:
            for profile in self.recipe.profile:
                session = Session(
                    Client(self.base_url, self.key_file), adapter_for(self.recipe.engine.kind), self.recipe.name, profile.name, profile.reasoning,
                    rows, self.tell, seed=self.seed, parsers=parser_arguments(self.recipe.args), next_index=index,
                )  # fmt: skip
                gates, fault = self._profile(session, profile)
                index = session.next_index
                results.append(ProfileResult(profile.name, tuple(gates)))
                if fault:
                    break
        finally:
            rows.close()
        return tuple(results), fault

    def _profile(self, session: Session, profile: Profile) -> tuple[list[GateResult], str | None]:
        """Gates in order; after a required one that didn't pass, the rest is ``not_run``."""
        steps: list[tuple[str, bool, Callable[[], GateResult]]] = [
            (profile.functional.protocol, True, partial(self._functional, session, profile.functional)),
        ]
        if profile.quality:
            steps.append(
                (profile.quality.protocol, profile.quality.required, partial(self._quality, session, profile.quality))
            )
        steps += [(lane.protocol, True, partial(self._capacity, session, lane)) for lane in profile.capacity]
        gates: list[GateResult] = []
        stopped: str | None = None
        for protocol, required, run in steps:
            if stopped:
                gates.append(GateResult(protocol, "not_run", stopped, required))
                continue
            session.protocol = protocol
            try:
                result = run()
            except CampaignError as exc:
                gates.append(GateResult(protocol, "not_run", f"ended by a fault: {exc}", required))
                return gates, str(exc)
            gates.append(result)
            self.tell(protocol.split("/")[0], f"{profile.name}: {protocol} {result.verdict}: {result.reason}")
            if required and result.verdict != "passed":
                stopped = f"{protocol} {result.verdict} before it"
        return gates, None

    def _functional(self, session: Session, gate: FunctionalGate) -> GateResult:
        available = self.protocols[gate.protocol]["check"]
        levels: list[tuple[str, Level]] = [(name, "required") for name in gate.required] + [
            (name, "advisory") for name in gate.advisory
        ]
        checks: list[CheckResult] = []
        replies: list[Reply] = []
        for number, (name, level) in enumerate(levels, start=1):
            self.tell("functional", f"functional {number}/{len(levels)}: {name}", done=number, total=len(levels))
            checks.append(run_check(session, name, level, available[name]))
            replies += session.replies
        result = judge_checks(gate.protocol, tuple(checks))
        self.functional_records.append(
            {"profile": session.profile, **to_document(result), "channels": channel_facts(replies)}
        )
        write_json(
            self.folder / "functional.json",
            artifact("functional", self.identity, {"profiles": self.functional_records}),
        )
        return result

    def _quality(self, session: Session, gate: QualityGate) -> GateResult:
        tasks = self.protocols[gate.protocol]["task"]
        budget = gate.visible_tokens + gate.reasoning_tokens
        session.asked.clear()
        attempts = []
        for number, (name, task) in enumerate(tasks.items(), start=1):
            self.tell("quality", f"quality {number}/{len(tasks)}: {name}", done=number, total=len(tasks))
            attempts += run_task(session, name, task, budget)
        scores = area_scores(attempts)
        wrong = [attempt for attempt in attempts if attempt.failure]
        shown = ", ".join(f"{area} {score['passed']}/{score['attempts']}" for area, score in scores.items())
        verdict: VerdictName = "failed" if wrong else ("passed" if attempts else "inconclusive")
        reason = f"{shown}; {wrong[0].task}: {wrong[0].failure}" if wrong else (shown or "no task was run")
        budgets = {
            "visible_tokens": gate.visible_tokens,
            "reasoning_tokens": gate.reasoning_tokens,
            "sent_as": "one cap",
        }
        record = {"profile": session.profile, "protocol": gate.protocol, "budget": budgets, "scores": scores}
        self.quality_records.append({**record, "verdict": verdict, "reason": reason, "attempts": to_document(attempts)})
        write_json(self.folder / "quality.json", artifact("quality", self.identity, {"profiles": self.quality_records}))
        return GateResult(gate.protocol, verdict, reason, gate.required)

    def _capacity(self, session: Session, gate: CapacityGate) -> GateResult:
        protocol = self.protocols[gate.protocol]
        since = time.time()
        run = run_capacity(session, gate, protocol)
        document = capacity_document(run, gate, protocol, speculative=self.recipe.speculative != "off")
        verdict, reason = judge_capacity(run, document)
        intrusions = self.intrusions(since)
        if intrusions:
            verdict, reason = "inconclusive", f"the host was not ours alone: {'; '.join(intrusions)}"
        self.capacity_count += 1
        record = {
            "profile": session.profile,
            "protocol": gate.protocol,
            "verdict": verdict,
            "reason": reason,
            "intrusions": intrusions,
        }
        write_json(
            self.folder / f"capacity-{self.capacity_count}.json",
            artifact("capacity", self.identity, {**record, **document}),
        )
        return GateResult(
            gate.protocol, verdict, reason, True, _capacity_checks(run, document) if verdict == "passed" else ()
        )


def _capacity_checks(run: CapacityRun, document: dict[str, Any]) -> tuple[CheckResult, ...]:
    """What has to be said beside a lane's figures."""
    checks = []
    if document["failed"]:
        text = f"{document['failed']} of {len(run.measured)} requests failed: {document['failures'][0]['class']}"
        checks.append(CheckResult("requests", "advisory", "failed", text))
    note = slow_first(document)
    if note:
        checks.append(CheckResult("first_request", "advisory", "passed", "kept and labelled", caveats=(note,)))
    return tuple(checks)
