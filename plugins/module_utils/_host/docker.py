# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker Engine over its socket: look, start, stop, kill; each call with a deadline of its own. Standard library only.

The keeper has to give a host back with nothing but the system's Python, so neither the docker SDK nor the CLI is used here.
API: https://docs.docker.com/reference/api/engine/ (fields used are the same from 1.41 to 1.52).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .._api.client import Client, Exchange
from .._words.errors import CampaignError

CALL_S = 10.0
#: What a stop call may take beyond the time it was given, before it counts as hung (docker/for-win#13320).
STALL_S = 2.0
KILL_S = 10.0
POLL_S = 0.05
LOG_LINES = 20


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


class Docker:
    """One engine, by its socket's path."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.client = Client(f"unix://{socket}", connect_s=2.0)

    def container(self, name: str) -> Container | None:
        """None where there is none of that name."""
        exchange = self._ask("GET", f"/containers/{quote(name)}/json", f"look at container {name}", (200, 404))
        return None if exchange.status == 404 else _container(json.loads(exchange.body))

    def running_ids(self) -> list[str]:
        """Ids of the running containers."""
        listing = json.loads(self._ask("GET", "/containers/json", "list the running containers", (200,)).body)
        return [str(item["Id"]) for item in listing]

    def is_desktop(self) -> bool:
        """Docker Desktop keeps its containers in a machine of its own, whose paths can't be seen from here."""
        info = json.loads(self._ask("GET", "/info", "describe itself", (200,)).body)
        return "desktop" in str(info.get("OperatingSystem", "")).lower()

    def has_image(self, image: str) -> bool:
        return self._ask("GET", f"/images/{quote(image)}/json", f"look at image {image}", (200, 404)).status == 200

    def has_volume(self, name: str) -> bool:
        return self._ask("GET", f"/volumes/{quote(name)}", f"look at volume {name}", (200, 404)).status == 200

    def start(self, name: str) -> None:
        """Raises :class:`CampaignError` with the engine's own reason (a port that is taken, an image that is gone)."""
        self._ask("POST", f"/containers/{quote(name)}/start", f"start container {name}", (204, 304), timeout_s=60.0)

    def set_restart_policy(self, name: str, policy: Mapping[str, Any]) -> None:
        """``{"Name": "no"}`` keeps a stopped container stopped when the engine itself restarts."""
        body = json.dumps({"RestartPolicy": dict(policy)}).encode()
        what = f"set the restart policy of {name} to {policy.get('Name')!r}"
        self._ask("POST", f"/containers/{quote(name)}/update", what, (200,), body=body)

    def stop(self, name: str, stop_s: float) -> str:
        """SIGTERM, SIGKILL after ``stop_s``; a stop call that doesn't return is followed by a kill. Returns how it went.

        Raises where the container still runs then. It is never removed: what was removed can't be started again.
        """
        path = f"/containers/{quote(name)}/stop?t={math.ceil(stop_s)}"
        begun = time.monotonic()
        exchange = self.client.post(path, b"", timeout_s=math.ceil(stop_s) + STALL_S)
        if exchange.status == 304:
            return "gone"
        if exchange.status == 204:
            ended = self.container(name)
            return "killed" if ended and ended.exit_code == 137 and time.monotonic() - begun >= stop_s else "terminated"
        if exchange.answered:
            raise CampaignError(_refusal(f"stop container {name}", exchange), container=name)
        if self._wait_ended(name, 0.0):
            return "terminated (the stop call did not return)"
        self._kill(name)
        if not self._wait_ended(name, KILL_S):
            raise CampaignError(
                f"container {name} still runs {KILL_S:g} s after a kill, and its stop call did not return; "
                "restart the Docker Engine, then run restore.yml",
                container=name,
            )
        return f"stopped by force (the stop call did not return within {math.ceil(stop_s) + STALL_S:g} s)"

    def log_tail(self, name: str, lines: int = LOG_LINES) -> str:
        """The last output of both streams; empty where it can't be read."""
        exchange = self.client.get(f"/containers/{quote(name)}/logs?stdout=1&stderr=1&tail={lines}", timeout_s=CALL_S)
        return _plain_log(exchange.body) if exchange.status == 200 else ""

    def _kill(self, name: str) -> None:
        # 409: it is not running any more. A kill that hangs is as good as none: the wait after it decides.
        self.client.post(f"/containers/{quote(name)}/kill", b"", timeout_s=KILL_S)

    def _wait_ended(self, name: str, limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while True:
            container = self.container(name)
            if container is None or not container.running:
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)

    def _ask(
        self,
        method: str,
        path: str,
        what: str,
        accepted: tuple[int, ...],
        *,
        body: bytes | None = None,
        timeout_s: float = CALL_S,
    ) -> Exchange:
        exchange = self.client.exchange(method, path, body, timeout_s=timeout_s)
        if not exchange.answered:
            raise CampaignError(
                f"the Docker Engine at {self.socket} can't {what}: {exchange.fault_text}", socket=self.socket
            )
        if exchange.status not in accepted:
            raise CampaignError(_refusal(what, exchange), socket=self.socket)
        return exchange


def _refusal(what: str, exchange: Exchange) -> str:
    try:
        text = str(json.loads(exchange.body)["message"])
    except (ValueError, KeyError, TypeError):
        text = exchange.body[:300].decode("utf-8", "replace")
    return f"Docker refuses to {what}: {text.strip()} (HTTP {exchange.status})"


def _container(document: dict[str, Any]) -> Container:
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


def _plain_log(data: bytes) -> str:
    """Docker's frames (stream, three zero bytes, length) taken off; a container with a terminal has none."""
    text, at = b"", 0
    while at + 8 <= len(data) and data[at] in (0, 1, 2) and data[at + 1 : at + 4] == b"\0\0\0":
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        text += data[at + 8 : at + 8 + size]
        at += 8 + size
    return (text or data).decode("utf-8", "replace")
