# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at the devices of the declared roles: who holds them, and waits until their memory is free."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from .._host.container import Container
from .._host.docker import Docker
from .._host.probe import Runner, read_gpus, run_program
from .._words.errors import CampaignError, RefusedError
from .._words.host import HostDeclaration
from .ownership import foreign_owners, memory_above_floor

POLL_S = 1.0


@dataclass
class Devices:
    """The devices of a host's roles. A host whose roles are all ``kind: cpu`` has none, and nobody is asked."""

    host: HostDeclaration
    run: Runner = run_program
    looked_at: dict[str, Container] = field(default_factory=dict)

    @property
    def declared(self) -> bool:
        return any(role.uuid for role in self.host.gpu_roles.values())

    def intruders(self, plans: Collection[str] = ()) -> list[str]:
        """Containers that hold a declared device and are neither a declared service nor an engine of ``plans``. Each is inspected once."""
        if not self.declared or not self._docker_is_there():
            return []
        docker = Docker(self.host.docker_socket)
        ids = docker.running_ids()
        self.looked_at = {name: found for name, found in self.looked_at.items() if name in ids}
        for name in ids:
            if name not in self.looked_at and (container := docker.container(name)) is not None:
                self.looked_at[name] = container
        holders = [container for container in self.looked_at.values() if container.uses_gpus]
        return foreign_owners(self.host, holders, read_gpus(self.run), plans) if holders else []

    def _docker_is_there(self) -> bool:
        """Declared containers need it; else it is asked where it may be."""
        declared = any(service.kind == "container" for service in self.host.services.values())
        return declared or os.access(self.host.docker_socket, os.R_OK | os.W_OK)

    def wait_free(self, tell: Callable[[str], None] = lambda _text: None) -> None:
        """Until every declared device is below the idle floor; WDDM frees late. Raises after ``gpu_release_s``."""
        if not self.declared:
            return
        deadline = time.monotonic() + self.host.gpu_release_s
        told = False
        while used := memory_above_floor(self.host, read_gpus(self.run)):
            text = ", ".join(f"{role} {memory} MiB" for role, memory in used.items())
            if time.monotonic() > deadline:
                raise CampaignError(
                    f"GPU memory is not free {self.host.gpu_release_s:g} s after the stop: {text} used, the threshold is "
                    f"{self.host.gpu_idle_mib} MiB (campaign_gpu_idle_mib). "
                    "No process list is asked: under WSL2 it is empty, whoever holds the memory. Nothing is started there",
                    used_mib=dict(used),
                    threshold_mib=self.host.gpu_idle_mib,
                )
            if not told:
                tell(f"waiting for GPU memory: {text}")
                told = True
            time.sleep(min(POLL_S, self.host.gpu_release_s))

    def check(self) -> None:
        """Before the first stop: every declared device is there, and nobody unknown holds one. Raises :class:`RefusedError`."""
        if not self.declared:
            return
        listed = {gpu.uuid for gpu in read_gpus(self.run)}
        found = [
            f"role {name}: no device {role.uuid} on this host (nvidia-smi lists {', '.join(sorted(listed)) or 'none'})"
            for name, role in self.host.gpu_roles.items()
            if role.uuid and role.uuid not in listed
        ]
        # Without its devices the host is declared wrongly; who holds them is no question then.
        found = found or self.intruders()
        if found:
            raise RefusedError("; ".join(found), intruders=found)
