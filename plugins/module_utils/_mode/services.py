# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of the owner: observe, check that they can be restored, stop, start. Built: kind ``process``."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from .._api.client import Client
from .._host.procfs import ProcessIdentity, command_line, identity_of, listens_on, parent_of, pids, stop
from .._words.errors import CampaignError, RefusedError
from .._words.host import Health, Service

HEALTH_POLL_S = 0.1
#: What a started service gets beside its env_file: a campaign's own environment is never handed on.
BASE_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ")


@dataclass(frozen=True)
class ServiceState:
    """What is there now. ``healthy`` is None where it doesn't run or declares no health."""

    running: bool
    healthy: bool | None = None
    process: ProcessIdentity | None = None


class ServiceHand(Protocol):
    """What the transaction asks of a kind of service."""

    def observe(self) -> ServiceState: ...

    def check_restorable(self) -> None: ...

    def stop(self) -> str: ...

    def start(self) -> None: ...


class ProcessService:
    """A process found by its exact command line (or the owner's ``match``) and started again from its declaration."""

    def __init__(self, name: str, service: Service) -> None:
        self.name = name
        self.service = service

    def observe(self) -> ServiceState:
        process = self._find()
        if process is None:
            return ServiceState(running=False)
        return ServiceState(
            running=True, healthy=is_healthy(self.service.health) if self.service.health else None, process=process
        )

    def _find(self) -> ProcessIdentity | None:
        found = {pid for pid in pids() if self._is_it(command_line(pid))}
        roots = [pid for pid in found if parent_of(pid) not in found]
        port = self._port()
        if len(roots) > 1 and port is not None:
            # A program that rewrites its title looks like its neighbours; the port tells them apart.
            roots = [pid for pid in roots if listens_on(pid, port)]
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

    def check_restorable(self) -> None:
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
        if self._find() is None and service.health and service.health.url and is_healthy(service.health):
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

    def start(self) -> None:
        service = self.service
        environment = {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}
        if service.env_file:
            environment |= read_env_file(Path(service.env_file))
        log = open(service.log or os.devnull, "ab")  # noqa: SIM115 - handed to the child, closed below
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
        finally:
            log.close()
        self._wait_healthy(child)

    def _wait_healthy(self, child: subprocess.Popen[bytes]) -> None:
        health = self.service.health
        deadline = time.monotonic() + (health.start_s if health else 1.0)
        while time.monotonic() < deadline:
            if child.poll() is not None:
                raise CampaignError(
                    f"service {self.name} ended with {child.returncode} right after its start (log: {self.service.log or 'none'})",
                    service=self.name,
                )
            if health and is_healthy(health):
                return
            time.sleep(HEALTH_POLL_S)
        if health:
            raise CampaignError(
                f"service {self.name} is not healthy {health.start_s:g} s after its start ({health.url or health.command})",
                service=self.name,
            )


KINDS = {"process": ProcessService}


def service_hand(name: str, service: Service) -> ServiceHand:
    """The hand of a service. A kind that is not built is refused by name."""
    if service.kind not in KINDS:
        raise RefusedError(
            f"service {name}: kind {service.kind!r} is not built in this version ({', '.join(KINDS)} is); nothing was touched"
        )
    return KINDS[service.kind](name, service)


def is_healthy(health: Health) -> bool:
    """One look, bounded to 2 s."""
    if health.url:
        parts = urlsplit(health.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Client(f"{parts.scheme}://{parts.netloc}", connect_s=1.0).get(path, timeout_s=2.0).status == 200
    try:
        return (
            subprocess.run(
                health.command, stdin=subprocess.DEVNULL, capture_output=True, timeout=2.0, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def worker_url(service: Service) -> str | None:
    """How a router calls the service: declared, or the origin of its health address."""
    if service.worker_url:
        return service.worker_url.rstrip("/")
    if service.health and service.health.url:
        parts = urlsplit(service.health.url)
        return f"{parts.scheme}://{parts.netloc}"
    return None


def read_env_file(path: Path) -> dict[str, str]:
    """``NAME=value`` lines; '#' begins a comment line. Values never leave this process but to the service."""
    pairs = (
        line.split("=", 1)
        for line in path.read_text(encoding="utf-8").splitlines()
        if "=" in line and not line.lstrip().startswith("#")
    )
    return {name.strip(): value.strip() for name, value in pairs}
