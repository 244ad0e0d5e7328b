# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that the owner starts and stops by commands of their own (a compose project, a script). Their health says whether they run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._words.errors import CampaignError, RefusedError
from .._words.host import Health, Service
from .service import ServiceState, is_healthy, poll_s


class CommandService:
    """Two commands and a health check."""

    def __init__(self, name: str, service: Service) -> None:
        self.name = name
        self.service = service

    @property
    def health(self) -> Health:
        if self.service.health is None:
            raise RefusedError(f"service {self.name}: a service of kind command needs health")
        return self.service.health

    def observe(self) -> ServiceState:
        running = is_healthy(self.health)
        return ServiceState(
            running=running, healthy=True if running else None, status="healthy" if running else "not healthy"
        )

    def check_restorable(self, state: ServiceState) -> None:
        """Both programs can be run, whatever their state: what can't be stopped must not be begun."""
        for word, argv in (("start", self.service.start), ("stop", self.service.stop)):
            if not Path(argv[0]).is_absolute() or not os.access(argv[0], os.X_OK):
                raise RefusedError(
                    f"service {self.name}: {word}[0] {argv[0]!r} is no absolute path of a program that can be run; it couldn't be given back"
                )

    def stop(self) -> str:
        if not is_healthy(self.health):
            return "gone"
        self._run("stop", self.service.stop, self.service.stop_s)
        begun = time.monotonic()
        while is_healthy(self.health):
            if time.monotonic() - begun > self.service.stop_s:
                raise CampaignError(
                    f"service {self.name} still answers {self.service.stop_s:g} s after its stop command ended",
                    service=self.name,
                )
            time.sleep(poll_s(begun))
        return "terminated"

    def start(self, prior: Mapping[str, Any]) -> None:
        self._run("start", self.service.start, self.health.start_s)
        begun = time.monotonic()
        while not is_healthy(self.health):
            if time.monotonic() - begun > self.health.start_s:
                raise CampaignError(
                    f"service {self.name} is not healthy {self.health.start_s:g} s after its start command ended",
                    service=self.name,
                )
            time.sleep(poll_s(begun))

    def put_back(self, prior: Mapping[str, Any]) -> bool:
        return False

    def _run(self, word: str, argv: tuple[str, ...], limit_s: float) -> None:
        """The command's own output goes to a file, so that a daemon it leaves behind doesn't hold a pipe open."""
        log = self.service.log or os.devnull
        with open(log, "ab") as output:
            try:
                done = subprocess.run(
                    argv, cwd=self.service.cwd or "/", stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=limit_s,
                    check=False, start_new_session=True,
                )  # fmt: skip
            except subprocess.TimeoutExpired as exc:
                raise CampaignError(
                    f"service {self.name}: its {word} command did not end within {limit_s:g} s and was killed (log: {log})",
                    service=self.name,
                ) from exc
            except OSError as exc:
                raise CampaignError(
                    f"service {self.name}: its {word} command can't be run: {exc}", service=self.name
                ) from exc
        if done.returncode != 0:
            raise CampaignError(
                f"service {self.name}: its {word} command ended with {done.returncode} (log: {log})", service=self.name
            )
