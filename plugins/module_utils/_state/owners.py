# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers as the docker command shows them, units as systemctl does, devices as nvidia-smi does."""

from __future__ import annotations

import json
from typing import Any

from .._words.host import HostDeclaration
from .look import output_of

UNIT_PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,ExecMainStatus,MainPID,FragmentPath"
#: The label of containers that a campaign makes.
OWN_LABEL = "tandem.campaign."


def read_containers(host: HostDeclaration) -> dict[str, dict[str, Any]] | None:
    """Name -> what is compared. None where the docker command can't tell."""
    docker = ["docker", "--host", f"unix://{host.docker_socket}"]
    listed = output_of([*docker, "ps", "--all", "--quiet", "--no-trunc"])
    if listed is None:
        return None
    ids = listed.split()
    shown = output_of([*docker, "inspect", "--type", "container", *ids]) if ids else "[]"
    if shown is None:
        return None
    return {item["Name"].lstrip("/"): _container(item) for item in json.loads(shown)}


def _container(item: dict[str, Any]) -> dict[str, Any]:
    state, host, config = item["State"], item["HostConfig"], item["Config"]
    requests = [
        request for request in host.get("DeviceRequests") or [] if request.get("Driver") in ("", "nvidia", "cdi")
    ]
    visible = [
        entry.split("=", 1)[1] for entry in config.get("Env") or [] if entry.startswith("NVIDIA_VISIBLE_DEVICES=")
    ]
    return {
        "id": item["Id"],
        "image": item["Image"],
        "status": state["Status"],
        "running": state["Status"] in ("running", "paused", "restarting"),
        "exit_code": state["ExitCode"],
        "health": (state.get("Health") or {}).get("Status"),
        "restart_policy": (host.get("RestartPolicy") or {}).get("Name"),
        "restart_count": item.get("RestartCount"),
        "started_at": state.get("StartedAt"),
        "pid": state.get("Pid"),
        "devices": [[request.get("Count"), *(request.get("DeviceIDs") or [])] for request in requests]
        + ([["runtime", *visible]] if host.get("Runtime") == "nvidia" else []),
        "own": any(name.startswith(OWN_LABEL) for name in config.get("Labels") or {}),
    }


def read_units(units: list[str]) -> dict[str, dict[str, Any]] | None:
    """Unit -> its properties. None where systemctl can't tell."""
    if not units:
        return {}
    shown = output_of(["systemctl", "--no-pager", "show", f"--property={UNIT_PROPERTIES}", *units])
    if shown is None:
        return None
    blocks = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in shown.split("\n\n")]
    return {unit: _unit(block) for unit, block in zip(units, (block for block in blocks if block), strict=False)}


def _unit(block: dict[str, str]) -> dict[str, Any]:
    return {
        "status": block.get("ActiveState"),
        "running": block.get("ActiveState") in ("active", "activating", "reloading", "deactivating"),
        "sub_state": block.get("SubState"),
        "load_state": block.get("LoadState"),
        "enabled": block.get("UnitFileState"),
        "exit_code": int(block.get("ExecMainStatus") or 0),
        "file": block.get("FragmentPath"),
        "pid": int(block.get("MainPID") or 0),
    }


def read_gpus() -> list[dict[str, Any]]:
    """Index, UUID and used memory; compute processes are not asked for, as WSL2 doesn't tell them."""
    for program in ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"):
        shown = output_of([program, "--query-gpu=index,uuid,memory.used", "--format=csv,noheader,nounits"])
        if shown is not None:
            rows = ([cell.strip() for cell in line.split(",")] for line in shown.splitlines() if "," in line)
            return [{"index": row[0], "uuid": row[1], "memory_used_mib": row[2]} for row in rows if len(row) == 3]
    return []


def owners_by_role(
    host: HostDeclaration, services: dict[str, Any], containers: dict[str, Any], gpus: list[dict[str, Any]]
) -> dict[str, list[str]]:
    """Role -> who holds it: running services that declare it, and running containers that asked for its device."""
    declared = {service.name: name for name, service in host.services.items() if service.kind == "container"}
    owners: dict[str, list[str]] = {}
    for role, device in host.gpu_roles.items():
        index = next((gpu["index"] for gpu in gpus if gpu["uuid"] == device.uuid), None)
        held = {
            name for name, service in host.services.items() if role in service.roles and services[name].get("running")
        }
        for name, container in containers.items():
            if container["running"] and device.uuid and _holds(container["devices"], device.uuid, index):
                held.add(declared.get(name, f"container {name}"))
        owners[role] = sorted(held)
    return owners


def _holds(devices: list[list[Any]], uuid: str, index: str | None) -> bool:
    for count, *ids in devices:
        wanted = [str(item).removeprefix("nvidia.com/gpu=") for entry in ids for item in str(entry).split(",")]
        if (
            count == -1
            or "all" in wanted
            or any(item and ((item.startswith("GPU-") and uuid.startswith(item)) or item == index) for item in wanted)
        ):
            return True
        if isinstance(count, int) and index is not None and int(index) < count:
            return True
    return False
