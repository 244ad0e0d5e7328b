# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runtimes: one interface over a process of an environment and a container of a Docker Engine. The same plan, readiness and evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .._words.plan import LaunchPlan
from .comparison import Comparison
from .ending import ExitStatus

#: A program beside the engine: importing an engine's libraries may take half of it.
PYTHON_S = 120.0

#: What the journal keeps of a start, so that a restore finds the engine: ``{runtime, plan_sha256, stop_s, socket, log}``.
EngineRecord = Mapping[str, Any]


@dataclass(frozen=True)
class Stopped:
    """How an engine was unloaded: ``terminated``, ``killed``, ``removed by force``… ``exit`` is None where only its parent knows it."""

    outcome: str
    what: str
    exit: ExitStatus | None = None


@dataclass(frozen=True)
class LiveStart:
    """The start as it is in effect: documents for evidence, rows for the verdict."""

    document: dict[str, Any]
    comparisons: list[Comparison]


class RunningEngine(Protocol):
    """An engine and what its starter knows of it. Lives in the keeper."""

    plan_sha256: str

    def identity(self) -> dict[str, Any]: ...

    def reap(self) -> None:
        """Called twice a second by its starter; a child that has ended doesn't stay as a zombie."""

    def exit_status(self) -> ExitStatus | None:
        """None while it runs."""


class EndWatch(Protocol):
    """Calls back once, in a thread of its own, as soon as the engine has ended."""

    def close(self) -> None: ...


class Runtime(Protocol):
    """Starts, watches, reads and stops engines of one kind."""

    def start(self, plan: LaunchPlan, log: Path) -> RunningEngine: ...

    def watch(self, identity: Mapping[str, Any], on_end: Callable[[], None]) -> EndWatch: ...

    def live(self, plan: LaunchPlan, identity: Mapping[str, Any]) -> LiveStart: ...

    def run_python(self, plan: LaunchPlan, identity: Mapping[str, Any], source: str, argument: str) -> str:
        """The output of a program that the engine's own Python runs where the engine runs. Raises :class:`CampaignError` where it can't be run."""

    def stop(self, record: EngineRecord) -> list[Stopped]:
        """Everything that carries the plan's hash, whoever started it; with its evidence kept. Raises where it stays."""
