# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The independent reader: the host's state by means that share nothing with the code that changes it.

Own look at /proc, the docker and systemctl commands, own sockets, own GET. This folder imports the words and itself only; a test
holds it apart from ``_mode``, ``_engine`` and ``_host``.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._words.host import HostDeclaration, Service
from .look import get, get_json, listening, ports_of, processes
from .owners import owners_by_role, read_containers, read_gpus, read_units


def read_state(host: HostDeclaration) -> dict[str, Any]:
    """Services, containers on GPUs, admissions, owners, route files, the engine's port: as plain JSON, in a fixed order."""
    running = processes()
    kinds = {service.kind for service in host.services.values()}
    containers = read_containers(host) if "container" in kinds or Path(host.docker_socket).exists() else {}
    units = read_units(sorted({str(service.unit) for service in host.services.values() if service.kind == "systemd"}))
    services = {name: _service(service, running, containers, units) for name, service in sorted(host.services.items())}
    gpus = read_gpus()
    names = {service.name for service in host.services.values() if service.kind == "container"}
    return {
        "services": services,
        "containers": {
            name: container
            for name, container in sorted((containers or {}).items())
            if name not in names and (container["own"] or (container["devices"] and container["running"]))
        },
        "admissions": {
            name: _admissions(service)
            for name, service in sorted(host.services.items())
            if service.admission and services[name]["running"]
        },
        "gpus": gpus,
        "gpu_owners": owners_by_role(host, services, containers or {}, gpus),
        "route_files": {path: _hash_of(Path(path)) for path in sorted(host.route_files)},
        "engine_port_open": host.port in {port for port, _inode in listening()},
        "engines": sum(_is_engine(arguments, host.state_dir) for arguments in running.values()),
    }


def unread(state: dict[str, Any]) -> list[str]:
    """What could not be looked at, in words. Two looks that saw nothing prove nothing."""
    return [
        f"{name}: {item['unread']}"
        for part in ("services", "admissions")
        for name, item in state[part].items()
        if isinstance(item, dict) and "unread" in item
    ]


def _is_engine(arguments: list[str], state_dir: str) -> bool:
    """Started from this host's own programs, and not the keeper. Another campaign's state folder is another host's business."""
    return any(item.startswith(f"{state_dir}/programs/") and "/keeper-" not in item for item in arguments[:3])


def _service(
    service: Service, running: dict[int, list[str]], containers: dict[str, Any] | None, units: dict[str, Any] | None
) -> dict[str, Any]:
    if service.kind == "container":
        if containers is None:
            return {
                "kind": "container",
                "running": None,
                "unread": "the docker command, which is needed for a look of its own, can't list containers",
            }
        state = dict(containers.get(str(service.name)) or {"status": "absent", "running": False})
    elif service.kind == "systemd":
        if units is None:
            return {"kind": "systemd", "running": None, "unread": "systemctl can't show units"}
        state = dict(units.get(str(service.unit)) or {"status": "absent", "running": False})
    elif service.kind == "command":
        state = {"running": _healthy(service)}
        state["status"] = "healthy" if state["running"] else "not healthy"
    else:
        state = _process(service, running)
    if state["running"] and service.health:
        state["health"] = get(service.health.url)[0] if service.health.url else _healthy(service)
    return {"kind": service.kind, **state}


def _process(service: Service, running: dict[int, list[str]]) -> dict[str, Any]:
    if service.match:
        pattern = re.compile(service.match)
        pids = [pid for pid, arguments in running.items() if pattern.search(" ".join(arguments))]
        if service.health and service.health.url:
            port, held = urlsplit(service.health.url).port, {pid: ports_of(pid) for pid in pids}
            pids = [pid for pid in pids if port in held[pid]] or [pid for pid in pids if not held[pid]]
    else:
        wanted = list(service.argv)
        pids = [pid for pid, arguments in running.items() if arguments[-len(wanted) :] == wanted]
    if not pids:
        return {"status": "absent", "running": False}
    command = hashlib.sha256("\0".join(running[min(pids)]).encode()).hexdigest()
    return {"status": "running", "running": True, "pid": min(pids), "command_sha256": command}


def _healthy(service: Service) -> bool:
    health = service.health
    if health is None:
        return False
    if health.url:
        return get(health.url)[0] == 200
    try:
        done = subprocess.run(
            list(health.command), stdin=subprocess.DEVNULL, capture_output=True, timeout=5.0, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _admissions(service: Service) -> Any:
    """The workers that a router lists, in the order of their addresses."""
    admission = service.admission
    if admission is None:
        return []
    base = admission.url.rstrip("/")
    path = {"sglang": "/workers", "vllm": "/list_workers"}.get(admission.api) or (
        admission.http.list.path if admission.http else ""
    )
    status, document = get_json(base + path, admission.key_file)
    if status is None or document is None:
        return {"unread": f"{base}{path} answers {status or 'nothing'}"}
    if admission.api == "sglang":
        rows = [
            {"url": item["url"].rstrip("/"), "healthy": bool(item.get("is_healthy"))}
            for item in document.get("workers", [])
        ]
    elif admission.api == "vllm":
        rows = [{"url": str(url).rstrip("/")} for url in document.get("urls", [])]
    else:
        rows = [
            {"url": str(url).rstrip("/")}
            for url in _walk(document, admission.http.workers_at if admission.http else "")
        ]
    return sorted(rows, key=lambda row: str(row["url"]))


def _walk(document: Any, path: str) -> list[Any]:
    found = [document]
    for part in path.split("."):
        if part == "*":
            found = [item for value in found if isinstance(value, list) for item in value]
        else:
            found = [value[part] for value in found if isinstance(value, dict) and part in value]
    return [item for value in found for item in (value if isinstance(value, list) else [value])]


def _hash_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
