# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every kind of service shares: its state, what the transaction asks of it, its health, and waiting for it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from .._api.client import Client
from .._host.procfs import ProcessIdentity
from .._words.errors import CampaignError
from .._words.host import Health, Service

#: Seconds between looks at a service that is starting: a fiftieth of how long it has taken, within these bounds.
HEALTH_POLL_S = (0.02, 0.5)
#: How long a service that declares no health has to stay up after its start before it counts as started.
SETTLE_S = 5.0


@dataclass(frozen=True)
class ServiceState:
    """What is there now. ``healthy`` is None where it doesn't run or declares no health.

    ``status``: the kind's own word (``exited``, ``absent``, ``inactive``). ``prior``: what a later start has to put back beside running.
    """

    running: bool
    healthy: bool | None = None
    status: str = ""
    exit_code: int | None = None
    process: ProcessIdentity | None = None
    prior: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """``exited (137)``, ``absent``, ``running``."""
        text = self.status or ("running" if self.running else "absent")
        return text if self.exit_code is None else f"{text} ({self.exit_code})"


class ServiceHand(Protocol):
    """What the transaction asks of a kind of service."""

    def observe(self) -> ServiceState: ...

    def check_restorable(self, state: ServiceState) -> None:
        """Raises where it couldn't be started again as it is."""

    def stop(self) -> str:
        """Returns how it went, in words."""

    def start(self, prior: Mapping[str, Any]) -> None:
        """Starts it and waits until it is healthy."""

    def put_back(self, prior: Mapping[str, Any]) -> bool:
        """For one that runs already: puts back what else a stop had changed. Returns whether it had."""


@dataclass(frozen=True)
class Ended:
    """A service that went down again: how, and its last output."""

    how: str
    log: str = ""


def wait_healthy(
    name: str,
    health: Health | None,
    ended: Callable[[], Ended | None],
    container_health: Callable[[], bool | None] = lambda: None,
) -> None:
    """Until the service is healthy; fails at once where it ends. Without a declared health it has to stay up for SETTLE_S.

    ``container_health``: what a container's own health check says, None where it has none.
    """
    start = time.monotonic()
    limit = health.start_s if health else (120.0 if container_health() is not None else SETTLE_S)
    while time.monotonic() - start < limit:
        down = ended()
        if down is not None:
            after = time.monotonic() - start
            log = f"; its last output: {down.log[-800:].strip()}" if down.log.strip() else ""
            raise CampaignError(f"service {name} {down.how} {after:.1f} s after its start{log}", service=name)
        if is_healthy(health) if health else container_health():
            return
        time.sleep(poll_s(start))
    if health or container_health() is not None:
        wanted = (health.url or " ".join(health.command)) if health else "its own health check"
        raise CampaignError(f"service {name} is not healthy {limit:g} s after its start ({wanted})", service=name)


def poll_s(start: float) -> float:
    """How long to wait for the next look at what began at ``start`` (monotonic)."""
    shortest, longest = HEALTH_POLL_S
    return min(longest, max(shortest, (time.monotonic() - start) / 50))


def is_healthy(health: Health) -> bool:
    """One look, bounded to 2 s."""
    if health.url:
        parts = urlsplit(health.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Client(f"{parts.scheme}://{parts.netloc}", connect_s=1.0).get(path, timeout_s=2.0).status == 200
    return run_bounded(health.command, 2.0) == 0


def run_bounded(argv: tuple[str, ...], limit_s: float) -> int | None:
    """Exit status of a command; None where it can't be run or didn't end in time (it is killed then)."""
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False, cwd="/"
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None


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
