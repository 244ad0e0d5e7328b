# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What entering the exclusive mode does, step by step, each with its undo. Pure; this is what ``--check --diff`` prints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .._words.errors import RefusedError
from .._words.host import HostDeclaration

StepKind = Literal["drain", "stop"]


@dataclass(frozen=True)
class Step:
    """One change. ``after``: names of the steps that have to be done before it; steps that don't wait for each other run at once.

    ``prior``: what the undo has to put back beside running (a container's restart policy).
    """

    kind: StepKind
    service: str
    undo: str
    after: tuple[str, ...] = ()
    worker: str | None = None
    worker_url: str | None = None
    prior: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Unique in a plan: ``stop:omni``, ``drain:router:omni``."""
        return ":".join(filter(None, (self.kind, self.service, self.worker)))

    def describe(self) -> str:
        """For people."""
        what = f"close admission of {self.worker} at {self.service}" if self.kind == "drain" else f"stop {self.service}"
        return f"{what} (undo: {self.undo})"


def exclusive_steps(
    host: HostDeclaration,
    running: Collection[str],
    admitted: Mapping[str, frozenset[str]],
    worker_urls: Mapping[str, str | None],
    priors: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Step, ...]:
    """Close admission, then stop what runs, dependents before what they need.

    ``running``: the services that run. ``admitted``: running router -> worker URLs it admits. ``worker_urls``: service -> its URL.
    ``priors``: service -> what its undo has to put back. What doesn't run gets no step, and so is not started again by a restore.
    """
    exclusive = host.modes.get("exclusive")
    kept = set(exclusive.services) if exclusive else set()
    to_stop = [
        name
        for name, service in host.services.items()
        if name in running and name not in kept and service.when_exclusive == "stopped"
    ]
    drains = _drains(to_stop, admitted, worker_urls)
    stops = []
    for name in _in_order(host, to_stop):
        dependents = [f"stop:{other}" for other in to_stop if name in host.services[other].needs]
        closed = [step.name for step in drains if name in (step.service, step.worker)]
        stops.append(
            Step("stop", name, f"start {name}", (*closed, *dependents), prior=dict((priors or {}).get(name, {})))
        )
    return (*drains, *stops)


def _drains(
    to_stop: list[str], admitted: Mapping[str, frozenset[str]], worker_urls: Mapping[str, str | None]
) -> list[Step]:
    """A worker that goes leaves its routers first. A router that goes forgets whom it was told to admit, so all its workers leave."""
    names = {url: name for name, url in worker_urls.items() if url}
    steps = []
    for router, urls in admitted.items():
        for url in sorted(urls):
            worker = names.get(url, url)
            if router in to_stop or worker in to_stop:
                steps.append(Step("drain", router, f"readmit {worker}", (), worker, url))
    return steps


def _in_order(host: HostDeclaration, names: list[str]) -> list[str]:
    """Dependents before what they need. Raises :class:`RefusedError` where services need each other in a circle."""
    left, ordered = list(names), []
    while left:
        needed = {other for name in left for other in host.services[name].needs}
        free = [name for name in left if name not in needed]
        if not free:
            raise RefusedError(f"campaign_services: {', '.join(left)} need each other in a circle")
        ordered += free
        left = [name for name in left if name not in free]
    return ordered


def check_no_circle(host: HostDeclaration) -> None:
    """Raises :class:`RefusedError` where services need each other in a circle."""
    _in_order(host, list(host.services))


def undo_order(steps: Collection[Step]) -> dict[str, tuple[str, ...]]:
    """Step -> the steps whose undo has to be done before its own: those that had waited for it."""
    return {step.name: tuple(other.name for other in steps if step.name in other.after) for step in steps}
