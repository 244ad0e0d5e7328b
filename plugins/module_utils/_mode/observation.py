# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking at a host before it is taken: what runs, who is admitted, and whether all of it could be put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from .._words.errors import CampaignError, RefusedError
from .._words.host import HostDeclaration
from .devices import Devices
from .plan import Step, exclusive_steps
from .proof import prove_admitted
from .routers import router_of
from .service import ServiceState, worker_url
from .services import service_hand

T = TypeVar("T")


@dataclass(frozen=True)
class Observation:
    """The host's services and routers before anything is changed. ``skipped``: default routers that don't run, and in which state."""

    states: dict[str, ServiceState]
    admitted: dict[str, frozenset[str]]
    worker_urls: dict[str, str | None]
    skipped: dict[str, str]

    def steps(self, host: HostDeclaration) -> tuple[Step, ...]:
        running = {name for name, state in self.states.items() if state.running}
        priors = {name: state.prior for name, state in self.states.items()}
        return exclusive_steps(host, running, self.admitted, self.worker_urls, priors)


def observe(host: HostDeclaration) -> Observation:
    """Looks at every declared service at once; a running router is asked for its workers and fails closed.

    A default router that does not run is left out, by its container's, unit's or process's state and not by a refused connection.
    One that was named explicitly has to be there: nobody could say otherwise what it admits.
    """
    states = each(host.services, lambda name: service_hand(host, name).observe())
    routers = [name for name, service in host.services.items() if service.admission]
    skipped = {}
    for name in routers:
        admission = host.services[name].admission
        if states[name].running:
            continue
        if admission is not None and not admission.default:
            raise RefusedError(
                f"router {name} was named explicitly (default: false) and does not run ({states[name].describe()}); start it, or make it the default one"
            )
        skipped[name] = states[name].describe()
    live = [name for name in routers if states[name].running]
    workers = each(live, lambda name: router_of(host, name).workers())
    admitted = {name: frozenset(worker.url for worker in workers[name]) for name in live}
    return Observation(
        states, admitted, {name: worker_url(service) for name, service in host.services.items()}, skipped
    )


def check_restorable(host: HostDeclaration, observation: Observation) -> None:
    """Everything a restore will need, before the first stop. Raises with all problems at once."""
    problems = _ghosts(observation)

    def check(name: str) -> None:
        state = observation.states[name]
        if state.running and state.healthy is False:
            raise RefusedError(
                f"service {name} runs, but is not healthy; whether it was given back well couldn't be told. Mend it or stop it first"
            )
        service_hand(host, name).check_restorable(state)

    problems += each_problem(host.services, check)
    problems += each_problem(["devices"], lambda _name: Devices(host).check())
    if problems:
        raise RefusedError("; ".join(problems), problems=problems)
    observation.steps(host)


def check_admissions(host: HostDeclaration, observation: Observation) -> None:
    """What a restore will have to prove can be proven now: each worker that is going to be drained is reached through its router."""
    drains = {step.name: step for step in observation.steps(host) if step.kind == "drain"}

    def check(name: str) -> None:
        prove_admitted(router_of(host, drains[name].service), str(drains[name].worker_url))

    problems = each_problem(drains, check)
    if problems:
        raise RefusedError("; ".join(problems), problems=problems)


def _ghosts(observation: Observation) -> list[str]:
    """Routers that list a declared service which does not run: traffic for it reaches nothing."""
    return [
        f"router {router} still admits {name} at {url} as a backend, but {name} is {observation.states[name].describe()}; remove it there first"
        for router, urls in observation.admitted.items()
        for name, url in observation.worker_urls.items()
        if url in urls and not observation.states[name].running and name != router
    ]


def each(names: Iterable[str], look: Callable[[str], T]) -> dict[str, T]:
    """``look`` at each name, all at once. The first fault is raised once all have ended."""
    listed = list(names)
    if not listed:
        return {}
    with ThreadPoolExecutor(max_workers=len(listed)) as pool:
        return dict(zip(listed, pool.map(look, listed), strict=True))


def each_problem(names: Iterable[str], check: Callable[[str], None]) -> list[str]:
    """The problems that the checks raise, in the order of the names."""

    def problem(name: str) -> str | None:
        try:
            check(name)
        except CampaignError as exc:
            return str(exc)
        return None

    return [text for text in each(names, problem).values() if text]
