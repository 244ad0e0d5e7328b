# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A running container beside its plan, from inspect; and what of inspect may stand in evidence. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._host.container import PLAN_LABEL
from .._host.container_cache import CAPABILITIES
from .._host.rules import unplanned_settings
from .._words.plan import ContainerStart, LaunchPlan
from .comparison import Comparison, compared
from .container_spec import GIB, create_body

#: Environment of an image that evidence shows by value; of everything else only the name, as an image may carry a secret.
SHOWN = (
    "NCCL_",
    "CUDA_",
    "PYTORCH_",
    "TORCH_",
    "NVIDIA_",
    "VLLM_",
    "SGLANG_",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "PATH",
    "LD_LIBRARY_PATH",
)


def compare_container(plan: LaunchPlan, start: ContainerStart, document: Mapping[str, Any]) -> list[Comparison]:
    """Every part of the request beside what the engine holds; what it fills in itself (counts, drivers, order) is no difference."""
    config, host, wanted = document["Config"], document["HostConfig"], create_body(plan, start)
    environment = environment_of(config)
    planned_host = wanted["HostConfig"]
    rows = [
        compared("argv", list(plan.argv), [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]),
        *(compared(f"environment {name}", value, environment.get(name, "(not set)")) for name, value in plan.environment.items()),
        compared("label of the plan", plan.sha256, (config.get("Labels") or {}).get(PLAN_LABEL, "(none)")),
        compared("mounts", _planned_mounts(start), sorted(_mount(item) for item in document.get("Mounts") or [] if item.get("Type") != "tmpfs")),
        compared("tmpfs", sorted(start.tmpfs), sorted(host.get("Tmpfs") or {})),
        compared("network", start.network, _network(str(host.get("NetworkMode")))),
        compared("published ports", planned_host.get("PortBindings", {}), host.get("PortBindings") or {}),
        compared("ipc", start.ipc, host.get("IpcMode")),
        compared("ulimits", dict(start.ulimits), {item["Name"]: item["Hard"] for item in host.get("Ulimits") or []}),
        compared("restart policy", "no", (host.get("RestartPolicy") or {}).get("Name") or "no"),
        compared("restarts", 0, int(document.get("RestartCount") or 0)),
        compared("init process", True, bool(host.get("Init"))),
        compared("no new privileges", True, any("no-new-privileges" in item for item in host.get("SecurityOpt") or [])),
        compared("dropped capabilities", ["ALL"], [item.removeprefix("CAP_") for item in host.get("CapDrop") or []]),
        compared("added capabilities", list(CAPABILITIES), [item.removeprefix("CAP_") for item in host.get("CapAdd") or []]),
        compared("privileged", False, bool(host.get("Privileged"))),
        compared("device requests", _request_ids(planned_host["DeviceRequests"]), _request_ids(host.get("DeviceRequests") or [])),
    ]  # fmt: skip
    if start.devices:
        unplanned = unplanned_settings(environment, plan.environment, collective=len(start.devices) > 1)
        rows += [compared(f"environment {name}", "(not set)", value) for name, (value, _rule) in unplanned.items()]
    if start.image_id:
        rows.insert(0, compared("image", start.image_id, document.get("Image")))
    if start.shm_gib:
        rows.append(compared("shm_gib", start.shm_gib, int(host.get("ShmSize") or 0) / GIB))
    return rows


def environment_of(config: Mapping[str, Any]) -> dict[str, str]:
    """``Env`` of an image's or container's config as a mapping."""
    return dict(entry.partition("=")[::2] for entry in config.get("Env") or [])


def kept_inspect(document: Mapping[str, Any], planned: Mapping[str, str]) -> dict[str, Any]:
    """Inspect for evidence: values of the plan's own environment and of what can matter, names only of the rest."""
    config = dict(document.get("Config") or {})
    config["Env"] = [
        f"{name}={value}" if name in planned or name.startswith(SHOWN) else f"{name}=(not shown)"
        for name, value in environment_of(config).items()
    ]
    kept = ("Id", "Name", "Created", "Path", "Args", "State", "Image", "RestartCount", "HostConfig", "Mounts")
    return {**{key: document.get(key) for key in kept}, "Config": config}


def _planned_mounts(start: ContainerStart) -> list[str]:
    return sorted(
        f"{mount.kind} {mount.source} at {mount.target}, {'read-only' if mount.read_only else 'writable'}"
        for mount in start.mounts
    )


def _mount(item: Mapping[str, Any]) -> str:
    kind = str(item.get("Type"))
    source = item.get("Name") if kind == "volume" else item.get("Source")
    return f"{kind} {source} at {item.get('Destination')}, {'writable' if item.get('RW') else 'read-only'}"


def _network(mode: str) -> str:
    # Docker 20.10 calls the network that nobody named default, later ones bridge.
    return "bridge" if mode == "default" else mode


def _request_ids(requests: list[Mapping[str, Any]]) -> list[str]:
    """Device ids, and a count where there is one: it would mean the first devices, whichever they are."""
    ids = [str(item) for request in requests for item in request.get("DeviceIDs") or []]
    return sorted(ids) + [f"count {request['Count']}" for request in requests if request.get("Count")]
