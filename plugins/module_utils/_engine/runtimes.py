# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runtime a plan or a journal's record names."""

from __future__ import annotations

from .._words.errors import CampaignError
from .._words.plan import LaunchPlan
from .docker_runtime import DockerRuntime
from .process import ProcessRuntime
from .runtime import EngineRecord, Runtime


def runtime_of(name: str, socket: str | None) -> Runtime:
    """``docker`` needs the engine's socket."""
    if name == "process":
        return ProcessRuntime()
    if name == "docker" and socket:
        return DockerRuntime(socket)
    raise CampaignError(f"no runtime {name!r} with socket {socket!r}")


def runtime_for(plan: LaunchPlan) -> Runtime:
    return runtime_of(plan.runtime, plan.container.socket if plan.container else None)


def record_of(plan: LaunchPlan, log: str) -> EngineRecord:
    """What the journal keeps before the start."""
    socket = plan.container.socket if plan.container else None
    return {
        "recipe": plan.recipe,
        "runtime": plan.runtime,
        "socket": socket,
        "plan_sha256": plan.sha256,
        "stop_s": plan.stop_s,
        "log": log,
    }
