# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that systemd runs, by ``systemctl``."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping
from typing import Any

from .._words.errors import CampaignError, RefusedError
from .._words.host import Service
from .service import Ended, ServiceState, is_healthy, wait_healthy

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "ExecMainStatus",
    "ExecMainCode",
    "TriggeredBy",
    "Result",
)
CALL_S = 10.0
#: What a stop may take beyond the unit's own limit before its processes are killed.
STALL_S = 5.0


class SystemdService:
    """A unit of the system's own manager."""

    def __init__(self, name: str, service: Service) -> None:
        self.name = name
        self.service = service
        self.unit = str(service.unit)

    def observe(self) -> ServiceState:
        shown = self._show()
        running = shown["ActiveState"] in ("active", "activating", "reloading", "deactivating")
        if not running:
            code = int(shown["ExecMainStatus"] or 0) if shown["ActiveState"] == "failed" else None
            status = "absent" if shown["LoadState"] == "not-found" else shown["ActiveState"]
            return ServiceState(running=False, status=status, exit_code=code)
        healthy = is_healthy(self.service.health) if self.service.health else None
        return ServiceState(running=True, healthy=healthy, status=shown["ActiveState"])

    def check_restorable(self, state: ServiceState) -> None:
        """Everything that a later start needs, checked before the first stop."""
        if not state.running:
            return
        shown = self._show()
        if shown["LoadState"] != "loaded":
            raise RefusedError(
                f"service {self.name}: unit {self.unit} is {shown['LoadState']}; it couldn't be started again"
            )
        if shown["UnitFileState"].startswith("masked"):
            raise RefusedError(f"service {self.name}: unit {self.unit} is masked; it couldn't be started again")
        if state.status != "active":
            raise RefusedError(
                f"service {self.name}: unit {self.unit} is {state.status} ({shown['SubState']}, result {shown['Result']}); wait or mend it first"
            )
        triggers = [unit for unit in shown["TriggeredBy"].split() if self._is_active(unit)]
        if triggers:
            raise RefusedError(
                f"service {self.name}: {', '.join(triggers)} would start {self.unit} again while it is out; stop it first, "
                f"or declare it as a service that needs {self.name}"
            )

    def stop(self) -> str:
        if not self.observe().running:
            return "gone"
        begun = self._run("stop", "--no-block", self.unit)
        if begun.returncode != 0:
            raise CampaignError(
                f"service {self.name}: systemctl stop {self.unit}: {begun.stderr.strip()[:300]}", service=self.name
            )
        if self._wait(self.service.stop_s):
            return "terminated"
        self._run("kill", "--signal=SIGKILL", "--kill-who=all", self.unit)
        if self._wait(STALL_S):
            return "killed"
        raise CampaignError(f"service {self.name}: unit {self.unit} is still there after SIGKILL", service=self.name)

    def start(self, prior: Mapping[str, Any]) -> None:
        self._run("reset-failed", self.unit)
        begun = self._run("start", "--no-block", self.unit)
        if begun.returncode != 0:
            raise CampaignError(
                f"service {self.name}: systemctl start {self.unit}: {begun.stderr.strip()[:300]}", service=self.name
            )
        wait_healthy(self.name, self.service.health, self._ended)

    def put_back(self, prior: Mapping[str, Any]) -> bool:
        return False

    def _wait(self, limit_s: float) -> bool:
        """Whether the unit is down within the limit; systemd tells by its own job, so no polling."""
        with contextlib.suppress(CampaignError):
            self._run("stop", self.unit, limit_s=limit_s)
        return not self.observe().running

    def _ended(self) -> Ended | None:
        shown = self._show()
        if shown["ActiveState"] in ("active", "activating", "reloading"):
            return None
        return Ended(
            f"is {shown['ActiveState']} ({shown['Result']}, exit {shown['ExecMainStatus']}; journalctl -u {self.unit} tells more)"
        )

    def _is_active(self, unit: str) -> bool:
        return self._run("is-active", unit).stdout.strip() == "active"

    def _show(self) -> dict[str, str]:
        done = self._run("show", f"--property={','.join(PROPERTIES)}", self.unit)
        if done.returncode != 0:
            raise CampaignError(
                f"service {self.name}: systemctl show {self.unit}: {done.stderr.strip()[:300]}", service=self.name
            )
        pairs = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        return {name: pairs.get(name, "") for name in PROPERTIES}

    def _run(self, *arguments: str, limit_s: float = CALL_S) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["systemctl", "--no-pager", "--no-ask-password", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except FileNotFoundError as exc:
            raise RefusedError(f"service {self.name}: there is no systemctl on this host") from exc
        except subprocess.TimeoutExpired as exc:
            raise CampaignError(
                f"service {self.name}: systemctl {arguments[0]} did not return within {limit_s:g} s", service=self.name
            ) from exc
