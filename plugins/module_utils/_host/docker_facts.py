# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Docker Engine is, from its /info and /version documents. Pure.

Documents differ: Docker Desktop runs its daemon in a machine of its own, whose kernel is the one that counts for containers;
Podman's compatible socket answers the same paths and calls itself so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._words.host import DockerFacts

#: Fields and paths used here are the same from this version on.
OLDEST_API = (1, 41)


def docker_facts(info: Mapping[str, Any], version: Mapping[str, Any]) -> DockerFacts:
    """From GET /info and GET /version."""
    kernel = str(info.get("KernelVersion") or version.get("KernelVersion") or "")
    system = str(info.get("OperatingSystem") or "")
    components = {
        str(item.get("Name", "")).lower() for item in version.get("Components") or [] if isinstance(item, dict)
    }
    discovered = [item for item in info.get("DiscoveredDevices") or [] if isinstance(item, dict)]
    security = " ".join(str(item) for item in info.get("SecurityOptions") or [])
    return DockerFacts(
        version=str(info.get("ServerVersion") or version.get("Version") or ""),
        api=str(version.get("ApiVersion") or ""),
        oldest_api=version.get("MinAPIVersion"),
        kernel=kernel,
        system=system,
        architecture=str(info.get("Architecture") or version.get("Arch") or ""),
        desktop="docker desktop" in system.lower() or str(info.get("Name")) == "docker-desktop",
        wsl2="microsoft" in kernel.lower(),
        rootless="rootless" in security,
        podman=any("podman" in name for name in components) or "buildahVersion" in info,
        storage=str(info.get("Driver") or "") or None,
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        platform=str((version.get("Platform") or {}).get("Name") or "") or None,
        cdi_devices=tuple(sorted(str(item.get("ID")) for item in discovered if item.get("Source") == "cdi")),
    )


def engine_problems(facts: DockerFacts, *, gpus: bool, cdi: bool) -> list[str]:
    """Why engines can't run there; empty where nothing speaks against it."""
    problems = []
    parts = facts.api.split(".")
    if len(parts) == 2 and all(part.isdigit() for part in parts) and tuple(map(int, parts)) < OLDEST_API:
        problems.append(
            f"the Docker Engine {facts.version} speaks API {facts.api}, {OLDEST_API[0]}.{OLDEST_API[1]} or newer is needed"
        )
    if gpus and cdi and not any("nvidia.com/gpu" in name for name in facts.cdi_devices):
        problems.append(
            "the Docker Engine has discovered no CDI device nvidia.com/gpu; make the specification: nvidia-ctk cdi generate "
            "--output=/etc/cdi/nvidia.yaml, or leave campaign_docker_gpus at nvidia"
        )
    return problems
