# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The docker runtime's part of a launch plan, and the request that creates exactly it. Pure.

Fields: https://docs.docker.com/reference/api/engine/version/v1.44/#tag/Container/operation/ContainerCreate
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._host.container import PLAN_LABEL
from .._host.container_cache import CAPABILITIES, cache_mount
from .._words.errors import RefusedError
from .._words.host import HostDeclaration
from .._words.plan import ContainerStart, LaunchPlan
from .._words.recipe import Recipe

#: Where an engine with remote code writes the modules it takes from the read-only cache.
REMOTE_CODE_FOLDER = "/run/tandem/hf-modules"
GIB = 2**30
#: A private /dev/shm without a size gets this much: Docker's 64 MB are too few for two ranks (NCCL: 9.6 MB a channel, peer and direction).
SHM_GIB = 2.0
#: The log is kept by the engine while it runs, bounded, and in a form that can be read back whatever the daemon's default is.
LOG = {"Type": "json-file", "Config": {"max-size": "64m", "max-file": "2"}}


def container_name(recipe: str) -> str:
    """For people; ownership never follows from it."""
    return f"tandem-{re.sub(r'[^a-zA-Z0-9_.-]', '-', recipe)}"


def image_name(recipe: Recipe) -> str:
    """What the recipe pins: an image by digest, or a base and its patch set."""
    derived = recipe.engine.derived
    return recipe.engine.image or (f"{derived.base} + {derived.patch_set}" if derived else "")


def container_start(
    recipe: Recipe, host: HostDeclaration, devices: Iterable[str], image_id: str | None
) -> ContainerStart:
    """What the recipe and the host's declaration say of the container. A GPU by UUID, as an index moves."""
    wanted = tuple(device for device in devices if device != "cpu")
    if wanted and len(wanted) != recipe.needs.roles:
        raise RefusedError(
            f"recipe {recipe.name} needs {recipe.needs.roles} GPUs, {len(wanted)} of {recipe.needs.roles} roles are one"
        )
    cdi = host.docker_gpus == "cdi"
    return ContainerStart(
        socket=host.docker_socket,
        name=container_name(recipe.name),
        image=image_name(recipe),
        image_id=image_id,
        network=host.docker_network,
        mounts=(cache_mount(host.cache),),
        tmpfs={REMOTE_CODE_FOLDER: "rw,nosuid,nodev,size=256m,mode=0700"} if recipe.model.trust_remote_code else {},
        device_driver="cdi" if cdi else "",
        devices=tuple(f"nvidia.com/gpu={device}" if cdi else device for device in wanted),
        ipc=recipe.limits.ipc,
        shm_gib=None if recipe.limits.ipc == "host" else recipe.limits.shm_gib or SHM_GIB,
        ulimits=recipe.limits.ulimits,
        labels={"tandem.campaign.recipe": recipe.name, "tandem.campaign.revision": recipe.model.revision},
    )


def create_body(plan: LaunchPlan, start: ContainerStart) -> dict[str, Any]:
    """The body of POST /containers/create. Nothing in it is decided here."""
    port = f"{plan.port}/tcp"
    published = (
        {"PortBindings": {port: [{"HostIp": plan.host, "HostPort": str(plan.port)}]}}
        if start.network == "bridge"
        else {}
    )
    return {
        "Image": start.image_id or start.image,
        "Entrypoint": [plan.argv[0]],
        "Cmd": list(plan.argv[1:]),
        "Env": [f"{name}={value}" for name, value in plan.environment.items()],
        "Labels": {**start.labels, PLAN_LABEL: plan.sha256},
        "ExposedPorts": {port: {}} if published else {},
        "HostConfig": {
            "NetworkMode": start.network,
            **published,
            "Mounts": [
                {"Type": mount.kind, "Source": mount.source, "Target": mount.target, "ReadOnly": mount.read_only}
                for mount in start.mounts
            ],
            "Tmpfs": dict(start.tmpfs),
            "DeviceRequests": device_requests(start),
            "IpcMode": start.ipc,
            **({"ShmSize": int(start.shm_gib * GIB)} if start.shm_gib else {}),
            "Ulimits": [{"Name": name, "Soft": value, "Hard": value} for name, value in start.ulimits.items()],
            "RestartPolicy": {"Name": "no"},
            "AutoRemove": False,
            # Workers that die would stay as zombies below a process 1 that doesn't wait for them.
            "Init": True,
            "SecurityOpt": ["no-new-privileges"],
            "CapDrop": ["ALL"],
            "CapAdd": list(CAPABILITIES),
            "LogConfig": LOG,
        },
    }  # fmt: skip


def device_requests(start: ContainerStart) -> list[dict[str, Any]]:
    """One request with the ids of all devices and no count: Docker refuses both together, and a count always means the first ones."""
    if not start.devices:
        return []
    capabilities = [] if start.device_driver == "cdi" else [["gpu"]]
    return [{"Driver": start.device_driver, "DeviceIDs": list(start.devices), "Capabilities": capabilities}]
