# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mode transaction: observe, check, journal, change; and the same machine backwards from the journal. Idempotent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .._engine.process import find_by_plan, stop_engine
from .._words.errors import CampaignError, RefusedError
from .._words.host import HostDeclaration
from .journal import Journal, Record, read_journal
from .plan import Step, exclusive_steps, undo_waves
from .reservation import Reservation
from .routers import router_for
from .services import ServiceState, service_hand, worker_url

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Observation:
    """The host's services and routers before anything is changed."""

    states: dict[str, ServiceState]
    admitted: dict[str, frozenset[str]]
    worker_urls: dict[str, str | None]

    def steps(self, host: HostDeclaration) -> tuple[Step, ...]:
        return exclusive_steps(
            host, {name: state.running for name, state in self.states.items()}, self.admitted, self.worker_urls
        )


def observe(host: HostDeclaration) -> Observation:
    """Looks at every declared service; a running router is asked for its workers and fails closed.

    A default router that does not run is left out, by its process and not by a refused connection. One that was named
    explicitly has to be there: nobody could say otherwise what it admits.
    """
    states = {name: service_hand(name, service).observe() for name, service in host.services.items()}
    for name, service in host.services.items():
        if service.admission and not service.admission.default and not states[name].running:
            raise RefusedError(
                f"router {name} was named explicitly (default: false) and does not run; start it, or make it the default one"
            )
    admitted = {
        name: frozenset(worker.url for worker in router_for(name, service.admission).workers())
        for name, service in host.services.items()
        if service.admission and states[name].running
    }
    return Observation(states, admitted, {name: worker_url(service) for name, service in host.services.items()})


def check_restorable(host: HostDeclaration, observation: Observation) -> None:
    """Everything a restore will need, before the first stop. Raises with all problems at once."""
    problems = []
    for name, service in host.services.items():
        try:
            service_hand(name, service).check_restorable()
        except CampaignError as exc:
            problems.append(str(exc))
    if problems:
        raise CampaignError("; ".join(problems), problems=problems)
    observation.steps(host)


@dataclass
class Transaction:
    """One reservation's changes to the host."""

    reservation: Reservation
    tell: Tell = field(default=lambda _text: None)

    def __post_init__(self) -> None:
        self.journal = Journal(self.reservation.journal)
        self.host = self.reservation.host

    def enter(self) -> list[str]:
        """Takes the roles: returns the steps done. What it did before a failure stands in the journal, for a restore."""
        observation = observe(self.host)
        check_restorable(self.host, observation)
        steps = observation.steps(self.host)
        running = {name: state.running for name, state in observation.states.items()}
        self.journal.append("note", "enter", running=running, steps=[step.name for step in steps])
        for wave in sorted({step.wave for step in steps}):
            self._at_once([step for step in steps if step.wave == wave], self._do)
        self.journal.append("note", "committed")
        return [step.describe() for step in steps]

    def restore(self) -> list[str]:
        """Undoes what the journal says was begun; returns what had to be done. Nothing to do is no change."""
        records = read_journal(self.reservation.journal)
        done = self._stop_engines(records)
        if any(record.step == "restored" for record in records):
            return done
        for wave in undo_waves(begun_steps(records)):
            done += [text for text in self._at_once(wave, self._undo) if text]
        self.journal.append("note", "restored", done=done)
        return done

    def _at_once(self, steps: list[Step], act: Callable[[Step], str | None]) -> list[str | None]:
        """Independent steps in parallel; all of them end before the first failure is raised."""
        if not steps:
            return []
        with ThreadPoolExecutor(max_workers=len(steps)) as pool:
            futures = [pool.submit(act, step) for step in steps]
        return [future.result() for future in futures]

    def _do(self, step: Step) -> None:
        self.journal.append("intent", step.name, **_fields(step))
        self.tell(step.describe())
        service = self.host.services[step.service]
        if step.kind == "drain" and service.admission and step.worker_url:
            outcome = (
                "drained" if router_for(step.service, service.admission).drain(step.worker_url) else "was not admitted"
            )
        else:
            outcome = service_hand(step.service, service).stop()
        self.journal.append("result", step.name, outcome=outcome)

    def _undo(self, step: Step) -> str | None:
        service = self.host.services[step.service]
        if step.kind == "drain" and service.admission and step.worker_url:
            router = router_for(step.service, service.admission)
            self.journal.append("intent", f"undo:{step.name}")
            changed = router.readmit(step.worker_url)
            model = router.prove(step.worker_url)
            self.journal.append("result", f"undo:{step.name}", changed=changed, answered_by=model)
            text = f"{step.service} admits {step.worker} again, {model} answered through it"
        else:
            hand = service_hand(step.service, service)
            if hand.observe().running:
                return None
            self.journal.append("intent", f"undo:{step.name}")
            hand.start()
            self.journal.append("result", f"undo:{step.name}", changed=True)
            text, changed = f"started {step.service}", True
        self.tell(text)
        return text if changed else None

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
                self.journal.append("note", "engine-stopped", plan_sha256=sha256, outcome=outcome, pid=process.pid)
                done.append(f"unloaded the engine (pid {process.pid}, {outcome})")
                self.tell(done[-1])
        return done


def begun_steps(records: list[Record]) -> list[Step]:
    """The steps whose intent was written, in the order of the journal; the undo of a step that never ran changes nothing."""
    return [
        Step(
            record.data["kind"],
            record.data["service"],
            record.data["wave"],
            record.data["undo"],
            record.data["worker"],
            record.data["worker_url"],
        )
        for record in records
        if record.kind == "intent" and record.step.startswith(("stop:", "drain:"))
    ]


def _fields(step: Step) -> dict[str, object]:
    return dict(vars(step))
