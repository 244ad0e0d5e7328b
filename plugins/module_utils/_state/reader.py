# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The independent reader: the host's state by means that share nothing with the code that changes it.

Own look at /proc, own sockets, own GET. Imports the words only; a test holds it apart from ``_mode``, ``_engine`` and ``_host``.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._words.host import HostDeclaration, Service

#: What may differ between two looks at an unchanged host; everything else is compared.
VOLATILE = ("pid", "worker_id", "observed_at", "memory_used_mib")


def read_state(host: HostDeclaration) -> dict[str, Any]:
    """Services, routers' admissions, GPU owners, the engine's port: as plain JSON, in a fixed order."""
    processes = _processes()
    services = {name: _service(service, processes) for name, service in sorted(host.services.items())}
    return {
        "services": services,
        "admissions": {
            name: _admissions(service)
            for name, service in sorted(host.services.items())
            if service.admission and services[name]["running"]
        },
        "gpus": _gpus(),
        "engine_port_open": host.port in _listening_ports(),
        "engines": sum(_is_engine(arguments, host.state_dir) for arguments in processes.values()),
    }


def diff_states(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Every difference as ``{path, before, after}``, volatile fields left out. Empty means: as it was."""
    return _diff("", {key: before.get(key) for key in after}, after)


def _diff(path: str, before: Any, after: Any) -> list[dict[str, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in sorted(set(before) | set(after)):
            if key not in VOLATILE:
                found += _diff(f"{path}/{key}", before.get(key), after.get(key))
        return found
    return [] if before == after else [{"path": path, "before": before, "after": after}]


def _is_engine(arguments: list[str], state_dir: str) -> bool:
    """Started from this host's own programs, and not the keeper. Another campaign's state folder is another host's business."""
    return any(item.startswith(f"{state_dir}/programs/") and "/keeper-" not in item for item in arguments[:3])


def _processes() -> dict[int, list[str]]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            data = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if data:
            found[int(folder.name)] = data.decode("utf-8", "replace").rstrip("\0").split("\0")
    return found


def _service(service: Service, processes: dict[int, list[str]]) -> dict[str, Any]:
    if service.kind != "process":
        return {"kind": service.kind, "running": None, "unread": f"kind {service.kind} is not read in this version"}
    if service.match:
        pattern = re.compile(service.match)
        pids = [pid for pid, arguments in processes.items() if pattern.search(" ".join(arguments))]
        if len(pids) > 1 and service.health and service.health.url:
            pids = [pid for pid in pids if urlsplit(service.health.url).port in _ports_of(pid)]
    else:
        wanted = list(service.argv)
        pids = [pid for pid, arguments in processes.items() if arguments[-len(wanted) :] == wanted]
    state: dict[str, Any] = {"kind": service.kind, "running": bool(pids), "pid": min(pids) if pids else None}
    if pids:
        state["command_sha256"] = hashlib.sha256("\0".join(processes[min(pids)]).encode()).hexdigest()
    if pids and service.health and service.health.url:
        state["health"] = _status(service.health.url)
    return state


def _admissions(service: Service) -> Any:
    admission = service.admission
    if admission is None or admission.api != "sglang":
        return {"unread": "this router's kind is not read in this version"}
    headers = (
        {"Authorization": f"Bearer {Path(admission.key_file).read_text(encoding='utf-8').strip()}"}
        if admission.key_file
        else {}
    )
    status, body = _get(admission.url.rstrip("/") + "/workers", headers)
    if status != 200:
        return {"status": status}
    workers = json.loads(body).get("workers", [])
    return sorted(
        ({"url": item["url"].rstrip("/"), "healthy": bool(item.get("is_healthy"))} for item in workers),
        key=lambda item: item["url"],
    )


def _status(url: str) -> int | None:
    return _get(url, {})[0]


def _get(url: str, headers: dict[str, str]) -> tuple[int | None, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=5.0)
    try:
        connection.request("GET", parts.path or "/", headers=headers)
        response = connection.getresponse()
        return response.status, response.read(2**22)
    except (OSError, http.client.HTTPException):
        return None, b""
    finally:
        connection.close()


def _gpus() -> list[dict[str, str]]:
    """UUID and used memory; compute processes are not asked for, as WSL2 doesn't tell them."""
    try:
        listing = subprocess.run(
            ["nvidia-smi", "--query-gpu=uuid,memory.used", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = (line.split(", ") for line in listing.stdout.splitlines() if ", " in line)
    return [{"uuid": row[0], "memory_used_mib": row[1]} for row in rows]


def _ports_of(pid: int) -> set[int]:
    """Ports that one process listens on, by ``ss``-like means: its descriptors against the socket table."""
    held = set()
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            held.add(str(descriptor.readlink()))
        except OSError:
            continue
    return {port for port, inode in _listening() if f"socket:[{inode}]" in held}


def _listening_ports() -> set[int]:
    return {port for port, _inode in _listening()}


def _listening() -> list[tuple[int, str]]:
    ports = []
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        rows = (line.split() for line in lines)
        ports += [(int(row[1].rsplit(":", 1)[1], 16), row[9]) for row in rows if row[3] == "0A"]
    return ports
