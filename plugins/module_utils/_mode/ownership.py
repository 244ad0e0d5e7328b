# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who owns which GPU, from what can be trusted under WSL2 too: the device requests of running containers. Pure.

Process lists are not asked: WDDM shows none (https://docs.nvidia.com/cuda/wsl-user-guide).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .._host.container import LOOK_LABEL, PLAN_LABEL, Container
from .._words.host import Gpu, HostDeclaration


def devices_of(container: Container, gpus: Iterable[Gpu]) -> frozenset[str]:
    """UUIDs that a container holds. A request by count is a request for indexes 0..n-1, always."""
    listed = tuple(gpus)
    by_index = {str(gpu.index): gpu.uuid for gpu in listed}
    if container.all_devices:
        return frozenset(by_index.values())
    wanted = {by_index.get(item, item) for item in container.devices}
    wanted |= {by_index[str(index)] for index in range(container.first_devices) if str(index) in by_index}
    # nvidia accepts a UUID's beginning.
    return frozenset(next((gpu.uuid for gpu in listed if gpu.uuid.startswith(item)), item) for item in wanted)


def foreign_owners(
    host: HostDeclaration, containers: Iterable[Container], gpus: Iterable[Gpu], plans: Collection[str] = ()
) -> list[str]:
    """Running containers that hold a declared role's device and are neither a declared service nor an engine of ``plans``: one sentence each."""
    known = {service.name for service in host.services.values() if service.kind == "container"}
    listed = tuple(gpus)
    found = []
    for container in containers:
        plan = container.labels.get(PLAN_LABEL)
        if container.name in known or not container.uses_gpus or plan in plans or LOOK_LABEL in container.labels:
            continue
        held = devices_of(container, listed)
        roles = [name for name, role in host.gpu_roles.items() if role.uuid in held]
        what = "is not in campaign_services; stop it, or declare it there so that it is stopped and started again"
        if plan:
            what = f"is an engine that an earlier campaign has left; remove it: docker rm --force {container.name}"
        if roles:
            found.append(f"container {container.name} holds {', '.join(roles)} and {what}")
    return found


def memory_above_floor(host: HostDeclaration, gpus: Iterable[Gpu]) -> Mapping[str, int]:
    """Role -> used MiB, for each declared device above the idle floor. What the driver doesn't tell can't be above it."""
    used = {gpu.uuid: gpu.memory_used_mib for gpu in gpus}
    return {
        name: memory
        for name, role in host.gpu_roles.items()
        if role.uuid and (memory := used.get(role.uuid) or 0) > host.gpu_idle_mib
    }
