# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process runtime's hand: starts an engine as a process of its own session and knows it again by its plan's hash."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .._host.procfs import ProcessIdentity, environment_value, identity_of, oom_kills, pids, stop
from .._words.errors import CampaignError
from .._words.plan import LaunchPlan

PLAN_VARIABLE = "TANDEM_PLAN_SHA256"
BASE_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR")


@dataclass(frozen=True)
class ExitStatus:
    """How an engine ended. ``oom``: the kernel killed for memory around then."""

    code: int | None
    signal: str | None
    oom: bool

    def describe(self) -> str:
        if self.signal:
            return f"killed by {self.signal}" + (" (the kernel ran out of memory)" if self.oom else "")
        return f"ended with exit status {self.code}"


@dataclass
class EngineProcess:
    """A running engine and its parent's knowledge of it. Lives in the keeper."""

    plan_sha256: str
    identity: ProcessIdentity
    popen: subprocess.Popen[bytes]
    oom_before: int | None = field(default_factory=oom_kills)

    def exit_status(self) -> ExitStatus | None:
        """None while it runs."""
        code = self.popen.poll()
        if code is None:
            return None
        if code >= 0:
            return ExitStatus(code, None, oom=False)
        oom = code == -signal.SIGKILL and self.oom_before is not None and (oom_kills() or 0) > self.oom_before
        return ExitStatus(None, signal.Signals(-code).name, oom)


def start_engine(plan: LaunchPlan, plan_sha256: str, log: Path) -> EngineProcess:
    """Starts the plan's argv; output goes to ``log``. The environment is the plan's and a few names of the host's."""
    environment = {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}
    environment |= {**plan.environment, PLAN_VARIABLE: plan_sha256}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            popen = subprocess.Popen(
                plan.argv,
                cwd="/",
                env=environment,
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
    return EngineProcess(plan_sha256, identity, popen)


def find_by_plan(plan_sha256: str) -> list[ProcessIdentity]:
    """Processes that carry the plan's hash; whoever started them. Session leaders only: their groups follow."""
    found = (identity_of(pid) for pid in pids() if environment_value(pid, PLAN_VARIABLE) == plan_sha256)
    return [process for process in found if process is not None]


def stop_engine(process: ProcessIdentity, stop_s: float) -> str:
    """Bounded stop, then kill. Raises where even that leaves it there: the host is then unresolved."""
    outcome = stop(process, stop_s)
    if outcome == "unkillable":
        raise CampaignError(
            f"the engine (pid {process.pid}) is still there after SIGKILL; the next lane is refused", pid=process.pid
        )
    return outcome
