# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services in containers of the owner: stopped and started, never removed, never made anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._host.container import Container
from .._host.docker import Docker
from .._words.errors import CampaignError, RefusedError
from .._words.host import Service
from .service import Ended, ServiceState, is_healthy, wait_healthy

NO_RESTART = {"Name": "no", "MaximumRetryCount": 0}


class ContainerService:
    """A container known by its name. Its restart policy is off while it is out, so that nothing brings it back."""

    def __init__(self, name: str, service: Service, docker: Docker) -> None:
        self.name = name
        self.service = service
        self.docker = docker
        self.container_name = str(service.name)

    def observe(self) -> ServiceState:
        container = self.docker.container(self.container_name)
        if container is None:
            return ServiceState(running=False, status="absent")
        if not container.running:
            return ServiceState(running=False, status=container.status, exit_code=container.exit_code)
        return ServiceState(
            running=True,
            healthy=self._health(container),
            status=container.status,
            prior={"restart_policy": dict(container.restart_policy)},
        )

    def _health(self, container: Container) -> bool | None:
        if self.service.health:
            return is_healthy(self.service.health)
        return None if container.health is None else container.health == "healthy"

    def check_restorable(self, state: ServiceState) -> None:
        """Everything that a later start needs, checked before the first stop."""
        if not state.running:
            return
        container = self.docker.container(self.container_name)
        if container is None:
            raise RefusedError(f"service {self.name}: container {self.container_name} went away while it was looked at")
        for problem in self._problems(container):
            raise RefusedError(f"service {self.name}: container {self.container_name} {problem}")

    def _problems(self, container: Container) -> list[str]:
        problems = []
        if container.auto_remove:
            problems.append("was started with --rm: stopping would remove it. Start it without --rm")
        if container.status == "paused":
            problems.append("is paused; unpause or stop it, a restore could only start it")
        if container.status == "restarting":
            problems.append(
                f"is in a restart loop (restart count {container.restart_count}, last exit {container.exit_code}); mend or stop it first"
            )
        if not self.docker.has_image(container.image):
            problems.append(f"runs from image {container.image}, which is gone; it couldn't be started again for sure")
        problems += [
            f"uses volume {volume}, which is gone" for volume in container.volumes if not self.docker.has_volume(volume)
        ]
        if container.binds and not self.docker.is_desktop():
            problems += [f"mounts {path}, which is gone" for path in container.binds if not Path(path).exists()]
        return problems

    def stop(self) -> str:
        state = self.observe()
        if not state.running:
            return "gone"
        if state.prior["restart_policy"]["Name"] not in ("no", ""):
            self.docker.set_restart_policy(self.container_name, NO_RESTART)
        return self.docker.stop(self.container_name, self.service.stop_s)

    def start(self, prior: Mapping[str, Any]) -> None:
        self.put_back(prior)
        self.docker.start(self.container_name)
        wait_healthy(self.name, self.service.health, self._ended, self._own_health)

    def put_back(self, prior: Mapping[str, Any]) -> bool:
        policy = prior.get("restart_policy") or NO_RESTART
        container = self.docker.container(self.container_name)
        if container is None:
            raise CampaignError(
                f"service {self.name}: container {self.container_name} was removed meanwhile. Create and start it as before, then run restore.yml again",
                service=self.name,
            )
        if dict(container.restart_policy) == dict(policy):
            return False
        self.docker.set_restart_policy(self.container_name, policy)
        return True

    def _ended(self) -> Ended | None:
        container = self.docker.container(self.container_name)
        if container is None:
            return Ended("was removed")
        if container.status == "running":
            return None
        return Ended(
            f"{container.status} with {container.exit_code}{f' ({container.error})' if container.error else ''}",
            self.docker.log_tail(self.container_name),
        )

    def _own_health(self) -> bool | None:
        container = self.docker.container(self.container_name)
        return None if container is None or container.health is None else container.health == "healthy"
