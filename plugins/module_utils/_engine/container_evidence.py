# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be lost with a container: its log and what inspect says of it. And leftovers of campaigns that had no end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .._evidence.store import write_json
from .._host import docker_containers as containers
from .._host.container import PLAN_LABEL, plain_log
from .._host.docker import Docker
from .container_check import kept_inspect

LOG_KEPT = 64 * 2**20


def keep_evidence(docker: Docker, identifier: str, log: Path, planned: Mapping[str, str]) -> None:
    """``log`` itself and ``<log>.container.json`` beside it; nothing where the container is gone."""
    document = docker.inspect(identifier)
    if document is None:
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    write_json(log.with_suffix(".container.json"), {"schema": "tandem.container/v1", **kept_inspect(document, planned)})
    _keep_log(docker, identifier, log)


def _keep_log(docker: Docker, identifier: str, log: Path) -> None:
    """The whole log, where more of it is there than a follower has written (its keeper died, say)."""
    exchange = docker.client.get(f"/containers/{identifier}/logs?stdout=1&stderr=1", timeout_s=30.0)
    data = plain_log(exchange.body).encode()[-LOG_KEPT:] if exchange.status == 200 else b""
    if len(data) > (log.stat().st_size if log.exists() else 0):
        temporary = log.with_name(f"{log.name}.new")
        temporary.write_bytes(data)
        os.replace(temporary, log)


def remove_leftover(docker: Docker, identifier: str, folder: Path) -> None:
    """One engine of ours that nobody waits for any more; its log goes to ``folder``."""
    keep_evidence(docker, identifier, folder / f"leftover-{identifier[:12]}.log", {})
    containers.remove(docker, identifier)


def clear_leftovers(socket: str, folder: Path) -> list[str]:
    """Engines of ours that have ended and were never removed (a crash, a power cut): their names. One that runs is not touched."""
    if not os.access(socket, os.R_OK | os.W_OK):
        return []
    docker = Docker(socket)
    ended = [
        item for item in containers.labelled(docker, PLAN_LABEL) if item.get("State") in ("exited", "dead", "created")
    ]
    for item in ended:
        remove_leftover(docker, str(item["Id"]), folder)
    return [str((item.get("Names") or ["/?"])[0]).lstrip("/") for item in ended]
