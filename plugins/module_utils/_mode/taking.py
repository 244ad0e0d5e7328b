# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a host: look, check, then each step with its intent on disk before and its result after."""

from __future__ import annotations

from collections.abc import Collection

from .._words.errors import CampaignError
from .devices import Devices
from .observation import Observation, check_admissions, check_restorable, observe
from .plan import Step
from .proof import prove_closed, served_model
from .routers import router_of
from .schedule import run_steps
from .services import service_hand
from .transaction import Transaction


class Taking(Transaction):
    """Frees the declared roles."""

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
