# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a lane's gates in order: functional first; what is corrupt, repetitive or silent is never timed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .._api.client import Client
from .._engine.adapters import endpoint_adapter
from .._evidence.record import artifact
from .._evidence.store import Lines, write_json
from .._words.errors import CampaignError
from .._words.identity import Identity
from .._words.profile import BurstGate, CapacityGate, Profile, QualityGate
from .._words.suite import Suite
from .._words.verdict import GateResult, ProfileResult
from .burst import BurstRun, burst_document, judge_burst, run_burst
from .capacity import CapacityRun, capacity_checks, capacity_document, judge_capacity, output_tokens, run_capacity
from .control import run_control
from .energy import energy_document
from .functional import run_functional
from .quality import run_quality
from .session import Session

Tell = Callable[..., None]
Record = dict[str, Any]


def unwatched(began_at: str, wall_s: float, tokens: int | None) -> Record:
    """Where no card is watched."""
    return energy_document((), (), began_at, wall_s, tokens)


@dataclass
class LaneGates:
    """One lane's gates against one loaded engine. Artifacts go to ``folder`` as soon as they are complete."""

    suite: Suite
    protocols: dict[str, dict[str, Any]]
    base_url: str
    folder: Path
    identity: Identity
    seed: str
    tell: Tell
    intrusions: Callable[[float], list[str]]
    key_file: str | None = None
    #: (began_at, wall_s, completion tokens) -> what was drawn meanwhile.
    energy: Callable[[str, float, int | None], Record] = unwatched
    functional_records: list[Record] = field(default_factory=list)
    quality_records: list[Record] = field(default_factory=list)
    capacity_count: int = 0

    def run(self) -> tuple[tuple[ProfileResult, ...], str | None]:
        """All profiles' results, and the infrastructure fault that ended the run early, if one did."""
        rows = Lines(self.folder / "rows.jsonl", artifact("rows", self.identity, {}))
        results: list[ProfileResult] = []
        fault: str | None = None
        index = 0
        try:
            for profile in self.suite.profile:
                session = self.session_of(profile, rows, index)
                gates, fault = self._profile(session, profile)
                index = session.next_index
                results.append(ProfileResult(profile.name, tuple(gates)))
                if fault:
                    break
        finally:
            rows.close()
        return tuple(results), fault

    def session_of(self, profile: Profile, rows: Lines, index: int) -> Session:
        """The profile's conversation; ``index`` is its first row's."""
        return Session(
            Client(self.base_url, self.key_file), endpoint_adapter(self.suite.engine), self.suite.model, profile.name, profile.reasoning,
            rows, self.tell, self.suite.context_tokens, seed=self.seed, parsers=self.suite.parsers, next_index=index,
        )  # fmt: skip

    def capacity_run(self, session: Session, gate: CapacityGate, protocol: Record) -> CapacityRun:
        """A lane's requests, made now."""
        return run_capacity(session, gate, protocol)

    def burst_run(self, session: Session, gate: BurstGate, protocol: Record) -> BurstRun:
        """A burst's requests, made now."""
        return run_burst(session, gate, protocol)

    def _profile(self, session: Session, profile: Profile) -> tuple[list[GateResult], str | None]:
        """Gates in order; after a required one that didn't pass, the rest is ``not_run``."""
        steps: list[tuple[str, bool, Callable[[], GateResult]]] = [
            (profile.functional.protocol, True, partial(self._functional, session, profile)),
        ]
        if profile.quality:
            steps.append(
                (profile.quality.protocol, profile.quality.required, partial(self._quality, session, profile.quality))
            )
        steps += [(lane.protocol, True, partial(self._capacity, session, lane)) for lane in profile.capacity]
        if profile.burst:
            steps.append((profile.burst.protocol, False, partial(self._burst, session, profile.burst)))
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

    def _functional(self, session: Session, profile: Profile) -> GateResult:
        """With an allowance for reasoning beside each check's own; the gates after it have theirs in their budgets."""
        session.reasoning_tokens = profile.functional_reasoning_tokens
        result, record = run_functional(session, profile.functional, self.protocols[profile.functional.protocol])
        session.reasoning_tokens = 0
        self.functional_records.append(record)
        self.write("functional", {"profiles": self.functional_records})
        return result

    def _quality(self, session: Session, gate: QualityGate) -> GateResult:
        """The reasoning control first; without it the tasks would not be what the profile's name says, and aren't run."""
        protocol = self.protocols[gate.protocol]
        channels = self.functional_records[-1]["channels"]["chat"]
        control = run_control(
            session, protocol["control"]["puzzle"], gate.visible_tokens + gate.reasoning_tokens, channels
        )
        reference = self.write("control", control, f"control-{session.profile}")
        if control["verdict"] == "passed":
            result, record = run_quality(session, gate, protocol, self.suite.context_tokens)
        else:
            reason = f"the reasoning control {control['verdict']}: {control['reason']}; no task was run"
            result = GateResult(gate.protocol, "inconclusive", reason, gate.required)
            record = {
                "profile": session.profile,
                "protocol": gate.protocol,
                "verdict": result.verdict,
                "reason": reason,
                "attempts": [],
            }
        self.quality_records.append({**record, "control": reference})
        self.write("quality", {"profiles": self.quality_records})
        return result

    def _capacity(self, session: Session, gate: CapacityGate) -> GateResult:
        protocol = self.protocols[gate.protocol]
        since = time.time()
        run = self.capacity_run(session, gate, protocol)
        document = capacity_document(run, gate, protocol, speculative=self.suite.speculative)
        verdict, reason = judge_capacity(run, document)
        intrusions = self.intrusions(since)
        if intrusions:
            verdict, reason = "inconclusive", f"the host was not ours alone: {'; '.join(intrusions)}"
        self.capacity_count += 1
        record: Record = {
            "profile": session.profile,
            "protocol": gate.protocol,
            "verdict": verdict,
            "reason": reason,
            "intrusions": intrusions,
            "sampling": session.sampling(),
            "energy": self.energy(run.began_at, document["wall_s"], output_tokens(run)),
        }
        self.write("capacity", {**record, **document}, f"capacity-{self.capacity_count}")
        return GateResult(
            gate.protocol, verdict, reason, True, capacity_checks(document) if verdict == "passed" else ()
        )

    def _burst(self, session: Session, gate: BurstGate) -> GateResult:
        """A file of its own kind: nothing that reads capacity finds it."""
        run = self.burst_run(session, gate, self.protocols[gate.protocol])
        document = burst_document(run, gate)
        verdict, reason = judge_burst(run, document)
        record: Record = {"profile": session.profile, "protocol": gate.protocol, "verdict": verdict, "reason": reason}
        record["sampling"] = session.sampling()
        self.write("burst", {**record, **document}, f"burst-{session.profile}")
        return GateResult(gate.protocol, verdict, reason, False)

    def write(self, name: str, content: Record, file: str | None = None) -> dict[str, str]:
        """Writes an artifact; says where it will stand in the packet, and its sha256."""
        path = self.folder / f"{file or name}.json"
        write_json(path, artifact(name, self.identity, content))
        return {
            "path": f"lanes/{self.suite.name}/{path.name}",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
