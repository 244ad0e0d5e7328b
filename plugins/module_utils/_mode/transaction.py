# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mode transaction: journal, change; and the same machine backwards from the journal. Idempotent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._engine.process import find_by_plan, stop_engine
from .._words.errors import CampaignError
from .devices import Devices
from .journal import Journal, Kind, Record, read_journal
from .observation import Observation, check_admissions, check_restorable, observe
from .plan import Step, undo_order
from .proof import prove_admitted, prove_closed, served_model
from .reservation import Reservation
from .routers import router_of
from .schedule import run_steps
from .service import Ended, is_healthy, wait_healthy
from .services import service_hand

Tell = Callable[[str], None]


@dataclass
class Transaction:
    """One reservation's changes to the host."""

    reservation: Reservation
    tell: Tell = field(default=lambda _text: None)
    open_journal: Callable[[Path], Journal] = Journal

    def __post_init__(self) -> None:
        self.journal = self.open_journal(self.reservation.journal)
        self.host = self.reservation.host

    def enter(self) -> list[str]:
        """Takes the roles: returns the steps done. What it did before a failure stands in the journal, for a restore."""
        observation = observe(self.host)
        check_restorable(self.host, observation)
        check_admissions(self.host, observation)
        steps = {step.name: step for step in observation.steps(self.host)}
        self._note_begin(observation, steps)
        outcome = run_steps(
            {name: step.after for name, step in steps.items()}, lambda name: self._do(steps[name]), go_on=False
        )
        if outcome.failures:
            raise CampaignError("; ".join(map(str, outcome.failures.values())), steps=sorted(outcome.failures))
        devices = Devices(self.host)
        devices.wait_free(self.tell)
        devices.check()
        self.journal.append("note", "committed")
        return [step.describe() for step in steps.values()]

    def _note_begin(self, observation: Observation, steps: Collection[str]) -> None:
        """What was found, before the first change: services' states, and routers whose admission is left alone and why."""
        self.journal.append(
            "note",
            "enter",
            services={name: state.describe() for name, state in observation.states.items()},
            skipped_routers=observation.skipped,
            steps=list(steps),
        )
        for name, state in observation.skipped.items():
            self.tell(f"router {name} was not running before ({state}): its admission is left alone")

    def restore(self) -> list[str]:
        """Undoes what the journal says was begun; returns what had to be done. Nothing to do is no change.

        What fails is named, and all that doesn't depend on it is given back nevertheless.
        """
        records = read_journal(self.reservation.journal)
        done = self._stop_engines(records)
        if any(record.step == "restored" for record in records):
            return done
        steps = {step.name: step for step in begun_steps(records)}
        outcome = run_steps(undo_order(steps.values()), lambda name: self._undo(steps[name]), go_on=True)
        done += [text for text in outcome.results.values() if text]
        problems = [str(fault) for fault in outcome.failures.values()]
        problems += [
            f"{steps[name].undo} was left out, as {steps[other].undo} failed" for name, other in outcome.skipped.items()
        ]
        problems = problems or self._still_up(steps.values())
        if problems:
            raise CampaignError(f"not restored: {'; '.join(problems)}", problems=problems, done=done)
        self._note_undo("note", "restored", done=done)
        return done

    def _do(self, step: Step) -> None:
        self.journal.append("intent", step.name, **vars(step))
        self.tell(step.describe())
        outcome = self._drain(step) if step.kind == "drain" else service_hand(self.host, step.service).stop()
        if outcome not in ("drained", "terminated"):
            self.tell(f"{step.name}: {outcome}")
        self.journal.append("result", step.name, outcome=outcome)

    def _drain(self, step: Step) -> str:
        router, url = router_of(self.host, step.service), str(step.worker_url)
        model = "" if router.asker.admission.proof == "listed" else served_model(router, url)
        outcome = router.drain(url)
        closed = prove_closed(router, url, model)
        self.journal.append("note", f"closed:{step.name}", proof=closed)
        return outcome

    def _undo(self, step: Step) -> str | None:
        text = self._readmit(step) if step.kind == "drain" else self._start(step)
        if text:
            self.tell(text)
        return text

    def _readmit(self, step: Step) -> str | None:
        router, url = router_of(self.host, step.service), str(step.worker_url)
        self._note_undo("intent", f"undo:{step.name}")
        changed = router.readmit(url)
        proof = prove_admitted(router, url)
        self._note_undo("result", f"undo:{step.name}", changed=changed, proof=proof)
        return f"{step.service} admits {step.worker} again: {proof}" if changed else None

    def _start(self, step: Step) -> str | None:
        hand, health = service_hand(self.host, step.service), self.host.services[step.service].health
        if hand.observe().running:
            changed = hand.put_back(step.prior)
            if self._becomes_healthy(step.service):
                return f"put {step.service} back as it was" if changed else None
            # Started by an earlier try, into a port that was taken then, say.
            self.tell(f"{step.service} runs, but does not become healthy: it is started anew")
            hand.stop()
        if health and is_healthy(health):
            raise CampaignError(
                f"service {step.service}: something else answers at {health.url or ' '.join(health.command)}; it would look healthy without running. "
                "Stop that, then run restore.yml again",
                service=step.service,
            )
        self._note_undo("intent", f"undo:{step.name}")
        try:
            hand.start(step.prior)
        except CampaignError as exc:
            self._note_undo("result", f"undo:{step.name}", changed=False, failed=str(exc))
            raise
        self._note_undo("result", f"undo:{step.name}", changed=True)
        return f"started {step.service}"

    def _note_undo(self, record_kind: Kind, record_step: str, **data: Any) -> None:
        """An undo looks before it acts, so it doesn't depend on its own records: a full disk doesn't keep the services down."""
        try:
            self.journal.append(record_kind, record_step, **data)
        except CampaignError as exc:
            self.tell(f"{record_step} is not in the journal: {exc}")

    def _becomes_healthy(self, name: str) -> bool:
        """Of a service that runs already."""
        hand, health = service_hand(self.host, name), self.host.services[name].health
        try:
            if health:
                wait_healthy(name, health, lambda: None if hand.observe().running else Ended("ended"))
        except CampaignError:
            return False
        return True

    def _still_up(self, steps: Collection[Step]) -> list[str]:
        """Services that were started and have gone down again meanwhile."""
        stopped = [step.service for step in steps if step.kind == "stop"]
        states = {name: service_hand(self.host, name).observe() for name in stopped}
        return [
            f"{name} went down again after its start: {state.describe()}"
            for name, state in states.items()
            if not state.running
        ]

    def _stop_engines(self, records: list[Record]) -> list[str]:
        """Engines that the journal knows and that still run, found by the plan's hash in their environment."""
        done = []
        for sha256, stop_s in {
            str(record.data["plan_sha256"]): float(record.data["stop_s"])
            for record in records
            if record.step == "engine"
        }.items():
            for process in find_by_plan(sha256):
                outcome = stop_engine(process, stop_s)
                self._note_undo("note", "engine-stopped", plan_sha256=sha256, outcome=outcome, pid=process.pid)
                done.append(f"unloaded the engine (pid {process.pid}, {outcome})")
                self.tell(done[-1])
        return done


def begun_steps(records: list[Record]) -> list[Step]:
    """The steps whose intent was written, in the order of the journal; the undo of a step that never ran changes nothing."""
    return [
        Step(**{**record.data, "after": tuple(record.data["after"])})
        for record in records
        if record.kind == "intent" and record.step.startswith(("stop:", "drain:"))
    ]
