# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that are plain processes: found by their command line, started again from their declaration."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._host.procfs import ProcessIdentity, command_line, identity_of, listening_ports, parent_of, pids, stop
from .._words.errors import CampaignError, RefusedError
from .._words.host import Service
from .service import Ended, ServiceState, is_healthy, read_env_file, wait_healthy

#: What a started service gets beside its env_file: a campaign's own environment is never handed on.
BASE_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ")


class ProcessService:
    """A process found by its exact command line (or the owner's ``match``) and started again from its declaration."""

    def __init__(self, name: str, service: Service) -> None:
        self.name = name
        self.service = service

    def observe(self) -> ServiceState:
        process = self._find()
        if process is None:
            return ServiceState(running=False, status="absent")
        healthy = is_healthy(self.service.health) if self.service.health else None
        return ServiceState(running=True, healthy=healthy, status="running", process=process)

    def _find(self) -> ProcessIdentity | None:
        found = {pid for pid in pids() if self._is_it(command_line(pid))}
        roots = [pid for pid in found if parent_of(pid) not in found]
        port = self._port()
        if port is not None and (len(roots) > 1 or self.service.match):
            # A program that rewrites its title looks like its neighbours; the port tells them apart. One that has none yet is starting.
            held = {pid: listening_ports(pid) for pid in roots}
            roots = [pid for pid in roots if port in held[pid]] or [pid for pid in roots if not held[pid]]
        if len(roots) > 1:
            raise RefusedError(
                f"service {self.name}: {len(roots)} processes match its declaration (pids {sorted(roots)}); make match narrower"
            )
        return identity_of(roots[0]) if roots else None

    def _is_it(self, arguments: tuple[str, ...]) -> bool:
        if not arguments:
            return False
        if self.service.match:
            return re.search(self.service.match, " ".join(arguments)) is not None
        # A script's command line begins with its interpreter, so the declared arguments are the end of it.
        declared = self.service.argv
        return arguments == declared or arguments[-len(declared) :] == declared

    def _port(self) -> int | None:
        health = self.service.health
        return urlsplit(health.url).port if health and health.url else None

    def check_restorable(self, state: ServiceState) -> None:
        """Everything that a later start needs, checked before the first stop."""
        service, name = self.service, self.name
        program = Path(service.argv[0])
        if not program.is_absolute() or not os.access(program, os.X_OK):
            raise RefusedError(
                f"service {name}: argv[0] {str(program)!r} is no absolute path of a program that can be run; it couldn't be started again"
            )
        if service.cwd and not Path(service.cwd).is_dir():
            raise RefusedError(f"service {name}: cwd {service.cwd!r} is no folder; it couldn't be started again")
        if service.env_file and not os.access(service.env_file, os.R_OK):
            raise RefusedError(
                f"service {name}: env_file {service.env_file!r} can't be read; it couldn't be started again"
            )
        if not state.running and service.health and service.health.url and is_healthy(service.health):
            raise RefusedError(
                f"service {name}: something answers at {service.health.url}, but no process has the declared command line. "
                "What runs differs from its declaration: correct campaign_services, or give match."
            )

    def stop(self) -> str:
        process = self._find()
        if process is None:
            return "gone"
        ending = stop(process, self.service.stop_s)
        if ending == "unkillable":
            raise CampaignError(
                f"service {self.name}: pid {process.pid} is still there after SIGKILL", service=self.name
            )
        return ending

    def start(self, prior: Mapping[str, Any]) -> None:
        service = self.service
        environment = {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}
        if service.env_file:
            environment |= read_env_file(Path(service.env_file))
        with open(service.log or os.devnull, "ab") as log:
            try:
                child = subprocess.Popen(
                    service.argv,
                    cwd=service.cwd or "/",
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as exc:
                raise CampaignError(f"service {self.name} can't be started: {exc}", service=self.name) from exc
        wait_healthy(self.name, service.health, lambda: self._ended(child))

    def put_back(self, prior: Mapping[str, Any]) -> bool:
        return False

    def _ended(self, child: subprocess.Popen[bytes]) -> Ended | None:
        status = child.poll()
        return None if status is None else Ended(f"ended with {status} (log: {self.service.log or 'none'})")
