# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The docker runtime: creates exactly the plan's container, follows its log, reads it back, removes it. Owned by its label only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._host import docker_containers as containers
from .._host.container import GPU_HINT, NO_GPU_DRIVER, PLAN_LABEL
from .._host.docker import Docker
from .._words.errors import CampaignError, EngineError, RefusedError
from .._words.plan import ContainerStart, LaunchPlan
from .container_check import compare_container, kept_inspect
from .container_engine import ContainerEngine, ContainerWatch
from .container_evidence import keep_evidence, remove_leftover
from .container_spec import create_body
from .devices_inside import compare_devices
from .ending import container_exit
from .runtime import PYTHON_S, EngineRecord, LiveStart, Stopped


class DockerRuntime:
    """Engines in the containers of one Docker Engine."""

    def __init__(self, socket: str) -> None:
        self.docker = Docker(socket)

    def start(self, plan: LaunchPlan, log: Path) -> ContainerEngine:
        """The start clock begins after creation; nothing is pulled. Raises :class:`EngineError` with the engine's own reason."""
        start = _start_of(plan)
        self._clear_leftover(start.name, log.parent)
        identifier = containers.create(self.docker, create_body(plan, start), start.name)
        try:
            self.docker.start(identifier)
        except CampaignError as exc:
            keep_evidence(self.docker, identifier, log, plan.environment)
            containers.remove(self.docker, identifier)
            hint = f". {GPU_HINT}" if NO_GPU_DRIVER in str(exc) else ""
            raise EngineError(f"{plan.recipe}: {exc}{hint}", stage="start") from exc
        engine = ContainerEngine(self.docker, identifier, plan.sha256)
        engine.follow(log)
        return engine

    def _clear_leftover(self, name: str, folder: Path) -> None:
        """The name may be taken by an engine of an earlier, crashed campaign: its log is kept and it goes. Anything else is not ours."""
        document = self.docker.inspect(name)
        if document is None:
            return
        identifier = str(document["Id"])
        if PLAN_LABEL not in (document["Config"].get("Labels") or {}):
            raise RefusedError(
                f"container {name} exists and is not one of ours (no label {PLAN_LABEL}); it is left alone. "
                f"Give it another name: docker rename {name} <name>",
                container=name,
            )
        remove_leftover(self.docker, identifier, folder)

    def watch(self, identity: Mapping[str, Any], on_end: Callable[[], None]) -> ContainerWatch:
        return ContainerWatch(self.docker, str(identity["id"]), on_end)

    def live(self, plan: LaunchPlan, identity: Mapping[str, Any]) -> LiveStart:
        """Inspect beside the plan, and the devices as they are seen inside."""
        start = _start_of(plan)
        document = self.docker.inspect(str(identity["id"]))
        if document is None:
            raise EngineError(f"{plan.recipe}: container {start.name} is gone, somebody removed it", stage="read_back")
        seen, rows = compare_devices(self.docker, str(identity["id"]), plan)
        inspected = kept_inspect(document, plan.environment)
        argv = [*(document["Config"].get("Entrypoint") or []), *(document["Config"].get("Cmd") or [])]
        return LiveStart(
            {"argv": argv, "container": inspected, "devices_inside": seen, "process": dict(identity)},
            compare_container(plan, start, document) + rows,
        )

    def run_python(self, plan: LaunchPlan, identity: Mapping[str, Any], source: str, argument: str) -> str:
        command = ["python3", "-c", source, argument]
        status, output = containers.run_inside(self.docker, str(identity["id"]), command, PYTHON_S)
        if status != 0:
            raise EngineError(f"{plan.recipe}: python3 in the engine's container: {output[-300:]}", stage="read_back")
        return output

    def stop(self, record: EngineRecord) -> list[Stopped]:
        """Bounded stop, kill, forced removal, absence: each with its own deadline. Log and inspect are kept before the removal."""
        stopped = []
        for item in containers.labelled(self.docker, f"{PLAN_LABEL}={record['plan_sha256']}"):
            identifier, name = str(item["Id"]), str((item.get("Names") or ["/?"])[0]).lstrip("/")
            ran = item.get("State") in ("running", "paused", "restarting")
            outcome = containers.stop_and_kill(self.docker, identifier, float(record["stop_s"]))
            state = (self.docker.inspect(identifier) or {}).get("State") or {}
            events = [] if ran else containers.kills_of(self.docker, identifier, state)
            ending = container_exit(state, events, ours=ran)
            keep_evidence(self.docker, identifier, Path(str(record["log"])), {})
            containers.remove(self.docker, identifier)
            stopped.append(Stopped("gone" if not ran else outcome, f"container {name}", ending))
        return stopped


def _start_of(plan: LaunchPlan) -> ContainerStart:
    if plan.container is None:
        raise CampaignError(f"{plan.recipe}: the plan has no container part")
    return plan.container
