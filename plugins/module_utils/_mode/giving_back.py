# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Giving a host back from its journal: idempotent, and as far as it goes where something fails."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .._engine.runtimes import runtime_of
from .._words.errors import CampaignError
from .journal import Kind, Record, read_journal
from .plan import Step, undo_order
from .proof import prove_admitted
from .routers import router_of
from .schedule import run_steps
from .service import Ended, is_healthy, wait_healthy
from .services import service_hand
from .transaction import Transaction, begun_steps


class GivingBack(Transaction):
    """Undoes what was begun."""

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
        """Engines that the journal knows and that are still there, found by the plan's hash that they carry."""
        done = []
        started = {str(record.data["plan_sha256"]): record.data for record in records if record.step == "engine"}
        for sha256, data in started.items():
            for stopped in runtime_of(str(data["runtime"]), data["socket"]).stop(data):
                self._note_undo(
                    "note", "engine-stopped", plan_sha256=sha256, outcome=stopped.outcome, what=stopped.what
                )
                done.append(f"unloaded the engine ({stopped.what}, {stopped.outcome})")
                self.tell(done[-1])
        return done
