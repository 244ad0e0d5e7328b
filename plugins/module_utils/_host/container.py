# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container as inspect shows it, and its log without frames. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: A container is an engine of ours if it has this label, whatever its name; the value is its plan's hash.
PLAN_LABEL = "tandem.campaign.plan"
#: Marks a container of ours that only looks or probes: never an engine, removed at once, no intruder.
LOOK_LABEL = "tandem.campaign.look"
#: How Docker says that nobody serves GPU requests (moby: daemon/devices.go), and what to do about it.
NO_GPU_DRIVER = "could not select device driver"
GPU_HINT = (
    "Docker cannot serve GPU requests here: install the NVIDIA Container Toolkit (nvidia-ctk runtime configure), "
    "or turn on GPU support in Docker Desktop's settings; this says nothing of the model"
)


@dataclass(frozen=True)
class Container:
    """What inspect says of a container. ``devices``: ids of its GPU requests; ``all_devices``: it asked for all of them."""

    id: str
    name: str
    image: str
    status: str
    exit_code: int
    error: str
    health: str | None
    restart_policy: Mapping[str, Any]
    restart_count: int
    auto_remove: bool
    started_at: str
    labels: Mapping[str, str]
    volumes: tuple[str, ...]
    binds: tuple[str, ...]
    devices: tuple[str, ...]
    all_devices: bool
    first_devices: int

    @property
    def running(self) -> bool:
        """Its processes are there: paused and restarting ones too."""
        return self.status in ("running", "paused", "restarting")

    @property
    def uses_gpus(self) -> bool:
        return bool(self.devices or self.all_devices or self.first_devices)


def container_of(document: dict[str, Any]) -> Container:
    """From the document of GET /containers/{id}/json."""
    state, config, host = document["State"], document["Config"], document["HostConfig"]
    mounts = document.get("Mounts") or []
    devices, everything, first = _devices(host, config.get("Env") or [])
    return Container(
        id=document["Id"],
        name=document["Name"].lstrip("/"),
        image=document["Image"],
        status=state["Status"],
        exit_code=int(state["ExitCode"]),
        error=str(state.get("Error") or ""),
        health=(state.get("Health") or {}).get("Status"),
        restart_policy=dict(host.get("RestartPolicy") or {"Name": "no", "MaximumRetryCount": 0}),
        restart_count=int(document.get("RestartCount") or 0),
        auto_remove=bool(host.get("AutoRemove")),
        started_at=str(state.get("StartedAt")),
        labels=dict(config.get("Labels") or {}),
        volumes=tuple(str(item["Name"]) for item in mounts if item.get("Type") == "volume"),
        binds=tuple(str(item["Source"]) for item in mounts if item.get("Type") == "bind"),
        devices=devices,
        all_devices=everything,
        first_devices=first,
    )


def _devices(host: Mapping[str, Any], environment: list[str]) -> tuple[tuple[str, ...], bool, int]:
    """GPU ids, whether all are asked for, and how many by count (Docker hands out indexes 0..n-1 then, always)."""
    ids: list[str] = []
    everything, first = False, 0
    for request in host.get("DeviceRequests") or []:
        if not any("gpu" in group for group in request.get("Capabilities") or []) and request.get("Driver") not in (
            "nvidia",
            "cdi",
        ):
            continue
        ids += [str(item).removeprefix("nvidia.com/gpu=") for item in request.get("DeviceIDs") or []]
        everything |= request.get("Count") == -1
        first = max(first, int(request.get("Count") or 0))
    if host.get("Runtime") == "nvidia":
        for entry in environment:
            if entry.startswith("NVIDIA_VISIBLE_DEVICES="):
                wanted = entry.partition("=")[2]
                everything |= wanted == "all"
                ids += [item for item in wanted.split(",") if item not in ("all", "none", "void", "")]
    everything |= "all" in ids
    return tuple(item for item in ids if item != "all"), everything, first


class LogFrames:
    """Takes Docker's frames (stream, three zero bytes, length) off a log that comes in pieces; a container with a terminal has none."""

    def __init__(self) -> None:
        self._rest = b""
        self._plain: bool | None = None

    def feed(self, data: bytes) -> bytes:
        """The text of what is whole by now."""
        self._rest += data
        if self._plain is None and len(self._rest) >= 4:
            self._plain = not (self._rest[0] in (0, 1, 2) and self._rest[1:4] == b"\0\0\0")
        if self._plain:
            text, self._rest = self._rest, b""
            return text
        text, at = b"", 0
        while at + 8 <= len(self._rest):
            size = int.from_bytes(self._rest[at + 4 : at + 8], "big")
            if at + 8 + size > len(self._rest):
                break
            text += self._rest[at + 8 : at + 8 + size]
            at += 8 + size
        self._rest = self._rest[at:]
        return text

    def rest(self) -> bytes:
        """What is left of a frame that was cut, without its head."""
        return self._rest if self._plain is None or self._plain else self._rest[8:]


def plain_log(data: bytes) -> str:
    """A whole log without its frames."""
    frames = LogFrames()
    return (frames.feed(data) + frames.rest()).decode("utf-8", "replace")
