# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot in a Docker volume, verified by the same library in a container without GPU and network that mounts it read-only.

Docker Desktop keeps volumes in a machine of its own, which the host's Python can't see into.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._cache.receipt import Receipt
from .._cache.report import Tell, unread_report
from .._host import docker_containers as containers
from .._host.archive import packed
from .._host.container import LOOK_LABEL, LogFrames
from .._host.container_cache import CAPABILITIES, cache_mount, container_hub
from .._host.docker import Docker
from .._words.errors import CampaignError
from .._words.host import Cache

PROGRAM, RECEIPT = "opt/tandem-campaign/verify.pyz", "opt/tandem-campaign/receipt.json"
#: After its log has ended the container has ended, or nearly so.
END_S = 20.0


def verify_in_volume(
    docker: Docker,
    cache: Cache,
    image: str,
    program: Path,
    wanted: Mapping[str, Any],
    depth: str,
    tell: Tell,
    receipt: Receipt | None,
) -> dict[str, Any]:
    """The report, as :func:`.report.snapshot_report` makes it. ``image``: an id on this host that has ``python3`` (the lane's own).

    The reader has the user and the rights that the engine will have, so what it can't read the engine can't.
    """
    if not docker.has_volume(str(cache.volume)):
        return unread_report(wanted, f"there is no volume {cache.volume} in the Docker Engine at {docker.socket}")
    mount = cache_mount(cache)
    request = {**wanted, "hub": container_hub(cache), "depth": depth, "receipt": f"/{RECEIPT}" if receipt else None}
    body = {
        "Image": image, "Entrypoint": ["python3"], "Cmd": [f"/{PROGRAM}", json.dumps(request)], "Labels": {LOOK_LABEL: "1"},
        "HostConfig": {
            "NetworkMode": "none", "CapDrop": ["ALL"], "CapAdd": list(CAPABILITIES), "SecurityOpt": ["no-new-privileges"],
            "Mounts": [{"Type": mount.kind, "Source": mount.source, "Target": mount.target, "ReadOnly": True}],
        },
    }  # fmt: skip
    files = {PROGRAM: program.read_bytes(), **({RECEIPT: json.dumps(receipt).encode()} if receipt else {})}
    container = containers.create(docker, body)
    try:
        containers.put_archive(docker, container, packed(files))
        docker.start(container)
        report = _follow(docker, container, tell)
        status = containers.wait_ended(docker, container, END_S)
        if report is None:
            last = docker.log_tail(container, 3).strip()
            return unread_report(wanted, f"the verifier in image {image} ended with {status}: {last[-300:]}")
        return report
    except CampaignError as exc:
        return unread_report(wanted, str(exc))
    finally:
        containers.remove(docker, container)


def _follow(docker: Docker, container: str, tell: Tell) -> dict[str, Any] | None:
    frames, rest = LogFrames(), b""
    for piece in containers.follow_log(docker, container).pieces():
        *lines, rest = (rest + frames.feed(piece)).split(b"\n")
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if "report" in event:
                report: dict[str, Any] = event["report"]
                return report
            tell(str(event.get("text")), int(event.get("done") or 0), int(event.get("total") or 0))
    return None
