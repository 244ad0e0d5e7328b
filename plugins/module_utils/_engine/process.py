# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process runtime: starts an engine as a process of its own session and knows it again by its plan's hash."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._host.procfs import (
    ProcessIdentity,
    command_line,
    environment_value,
    identity_of,
    oom_kills,
    pids,
    stop,
    wait_gone,
)
from .._words.errors import CampaignError
from .._words.plan import LaunchPlan
from .comparison import compared
from .ending import ExitStatus
from .runtime import PYTHON_S, EndWatch, EngineRecord, LiveStart, Stopped

PLAN_VARIABLE = "TANDEM_PLAN_SHA256"
BASE_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR")


@dataclass
class EngineProcess:
    """A running engine and its parent's knowledge of it. Lives in the keeper."""

    plan_sha256: str
    process: ProcessIdentity
    popen: subprocess.Popen[bytes]
    oom_before: int | None = field(default_factory=oom_kills)

    def identity(self) -> dict[str, Any]:
        return {"runtime": "process", **vars(self.process)}

    def reap(self) -> None:
        self.popen.poll()

    def exit_status(self) -> ExitStatus | None:
        """None while it runs."""
        code = self.popen.poll()
        if code is None:
            return None
        if code >= 0:
            return ExitStatus(code, None, oom=False)
        oom = code == -signal.SIGKILL and self.oom_before is not None and (oom_kills() or 0) > self.oom_before
        return ExitStatus(None, signal.Signals(-code).name, oom)


def plan_environment(plan: LaunchPlan) -> dict[str, str]:
    """The plan's, a few names of the host's, and the plan's hash, by which its processes are known again."""
    environment = {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}
    return {**environment, **plan.environment, PLAN_VARIABLE: plan.sha256}


def start_engine(plan: LaunchPlan, log: Path) -> EngineProcess:
    """Starts the plan's argv; output goes to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            popen = subprocess.Popen(
                plan.argv,
                cwd="/",
                env=plan_environment(plan),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as exc:
            raise CampaignError(
                f"engine of {plan.recipe}: {plan.argv[0]} can't be started: {exc.strerror}", argv=list(plan.argv)
            ) from exc
    identity = identity_of(popen.pid)
    if identity is None:
        raise CampaignError(f"engine of {plan.recipe} ended at once with {popen.wait()}", argv=list(plan.argv))
    return EngineProcess(plan.sha256, identity, popen)


def find_by_plan(plan_sha256: str) -> list[ProcessIdentity]:
    """Processes that carry the plan's hash; whoever started them. Session leaders only: their groups follow."""
    found = (identity_of(pid) for pid in pids() if environment_value(pid, PLAN_VARIABLE) == plan_sha256)
    return [process for process in found if process is not None]


class ProcessRuntime:
    """An engine is a child of its starter, so that its exit status and signal are known."""

    def start(self, plan: LaunchPlan, log: Path) -> EngineProcess:
        return start_engine(plan, log)

    def watch(self, identity: Mapping[str, Any], on_end: Callable[[], None]) -> EndWatch:
        return _Watch(_process(identity), on_end)

    def live(self, plan: LaunchPlan, identity: Mapping[str, Any]) -> LiveStart:
        """Arguments and environment as the kernel shows them."""
        pid = _process(identity).pid
        argv = list(command_line(pid))
        environment = {name: environment_value(pid, name) for name in plan.environment}
        rows = [compared("argv", list(plan.argv), argv)]
        rows += [
            compared(f"environment {name}", value, environment[name] if environment[name] is not None else "(not set)")
            for name, value in plan.environment.items()
        ]
        return LiveStart({"argv": argv, "environment": environment, "process": dict(identity)}, rows)

    def run_python(self, plan: LaunchPlan, identity: Mapping[str, Any], source: str, argument: str) -> str:
        """Without the plan's mark, by which an engine is known."""
        environment = {name: value for name, value in plan_environment(plan).items() if name != PLAN_VARIABLE}
        try:
            done = subprocess.run(
                [plan.argv[0], "-c", source, argument], cwd="/", env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=PYTHON_S, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as exc:
            raise CampaignError(f"{plan.recipe}: {plan.argv[0]} beside the engine: {exc}"[:600]) from exc
        return done.stdout

    def stop(self, record: EngineRecord) -> list[Stopped]:
        """Bounded stop, then kill. Raises where even that leaves it there: the host is then unresolved."""
        stopped = []
        for process in find_by_plan(str(record["plan_sha256"])):
            outcome = stop(process, float(record["stop_s"]))
            if outcome == "unkillable":
                raise CampaignError(
                    f"the engine (pid {process.pid}) is still there after SIGKILL; the next lane is refused",
                    pid=process.pid,
                )
            stopped.append(Stopped(outcome, f"pid {process.pid}"))
        return stopped


class _Watch:
    def __init__(self, process: ProcessIdentity, on_end: Callable[[], None]) -> None:
        self.closed = False

        def wait() -> None:
            while not self.closed:
                if wait_gone(process, 1.0):
                    on_end()
                    return

        threading.Thread(target=wait, daemon=True).start()

    def close(self) -> None:
        self.closed = True


def _process(identity: Mapping[str, Any]) -> ProcessIdentity:
    return ProcessIdentity(str(identity["boot_id"]), int(identity["pid"]), int(identity["start_ticks"]))
