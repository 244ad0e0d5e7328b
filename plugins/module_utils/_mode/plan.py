# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What entering the exclusive mode does, step by step, each with its undo. Pure; this is what ``--check --diff`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .._words.errors import RefusedError
from .._words.host import HostDeclaration

StepKind = Literal["drain", "stop"]


@dataclass(frozen=True)
class Step:
    """One change. ``wave``: steps of one wave are independent and run at once; waves follow each other."""

    kind: StepKind
    service: str
    wave: int
    undo: str
    worker: str | None = None
    worker_url: str | None = None

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
    running: Mapping[str, bool],
    admitted: Mapping[str, frozenset[str]],
    worker_urls: Mapping[str, str | None],
) -> tuple[Step, ...]:
    """Close admission, then stop what runs, dependents before what they need.

    ``running``: service -> whether it runs. ``admitted``: running router -> worker URLs it admits. ``worker_urls``: service -> its URL.
    What doesn't run gets no step, and so is not started again by a restore.
    """
    exclusive = host.modes.get("exclusive")
    kept = set(exclusive.services) if exclusive else set()
    to_stop = [
        name
        for name, service in host.services.items()
        if running[name] and name not in kept and service.when_exclusive == "stopped"
    ]
    steps: list[Step] = []
    for router, urls in admitted.items():
        for worker in to_stop:
            url = worker_urls.get(worker)
            if url in urls and host.services[router].when_exclusive == "drained":
                steps.append(Step("drain", router, 0, f"readmit {worker}", worker, url))
    for wave, names in enumerate(stop_waves(host, to_stop), start=1):
        steps += [Step("stop", name, wave, f"start {name}") for name in names]
    return tuple(steps)


def stop_waves(host: HostDeclaration, names: list[str]) -> list[list[str]]:
    """Groups for stopping: a service goes before those it needs. Reversed, it is the order for starting."""
    left = list(names)
    waves: list[list[str]] = []
    while left:
        needed = {other for name in left for other in host.services[name].needs}
        wave = [name for name in left if name not in needed]
        if not wave:
            raise RefusedError(f"campaign_services: {', '.join(left)} need each other in a circle")
        waves.append(wave)
        left = [name for name in left if name not in wave]
    return waves


def undo_waves(steps: list[Step]) -> list[list[Step]]:
    """The undo order of steps that were begun: last wave first."""
    return [
        [step for step in steps if step.wave == wave] for wave in sorted({step.wave for step in steps}, reverse=True)
    ]
