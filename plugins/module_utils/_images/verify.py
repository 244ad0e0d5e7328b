# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at the pinned images before anything is touched, and proves that GPU requests are served. Starts no engine, pulls nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._engine.devices_inside import UUID
from .._host import docker_containers as containers
from .._host.container import GPU_HINT, LOOK_LABEL, NO_GPU_DRIVER
from .._host.docker import Docker
from .._words.errors import CampaignError
from .derived import find_derived
from .image import NCCL_FILES, image_report, nccl_settings, platform_problem
from .store import inspect_image, list_images

PROBE_S = 60.0


def verify_image(docker: Docker, wanted: Mapping[str, Any], machine: str, *, look_inside: bool) -> dict[str, Any]:
    """One image's report. ``wanted``: ``{image}`` or ``{image, derived}``, and ``devices`` with their ``driver`` for the GPU probe.

    Looking inside makes containers that are never started, and one that lists the devices.
    """
    if wanted.get("derived"):
        report = find_derived(docker, wanted["derived"], str(wanted["image"]), look_inside=look_inside)
    else:
        reference = str(wanted["image"])
        document = inspect_image(docker, reference)
        report = image_report(reference, document, list_images(docker) if document is None else [])
    if report["problems"]:
        return report
    problem = platform_problem(report, machine)
    report["problems"] = [problem] if problem else []
    report["nccl_files"] = _nccl_files(docker, report["id"]) if look_inside else {}
    for settings in report["nccl_files"].values():
        # What an nccl.conf sets counts like a variable that the image sets, and less than one.
        report["environment"] = {**settings, **report["environment"]}
    report["gpu_probe"] = {"verdict": "not_run", "reason": "no GPU is asked for"}
    if wanted.get("devices") and look_inside:
        report["gpu_probe"] = probe_gpus(docker, report["id"], list(wanted["devices"]), str(wanted.get("driver") or ""))
        if report["gpu_probe"]["verdict"] == "failed":
            report["problems"].append(report["gpu_probe"]["reason"])
    return report


def _nccl_files(docker: Docker, image: str) -> dict[str, dict[str, str]]:
    """Read from a container that is made and never started."""
    identifier = containers.create(docker, {"Image": image, "Cmd": ["true"], "Labels": {LOOK_LABEL: "1"}})
    try:
        texts = {path: containers.read_file(docker, identifier, path) for path in NCCL_FILES}
    finally:
        containers.remove(docker, identifier)
    return {path: nccl_settings(text.decode("utf-8", "replace")) for path, text in texts.items() if text}


def probe_gpus(docker: Docker, image: str, devices: Sequence[str], driver: str) -> dict[str, Any]:
    """Asks for exactly the roles' devices and lists what is there: nothing is computed and no GPU memory taken.

    ``failed`` where Docker serves no GPU request or gives other devices; ``inconclusive`` where the image can't list them.
    """
    request = {"Driver": driver, "DeviceIDs": list(devices), "Capabilities": [] if driver == "cdi" else [["gpu"]]}
    body = {
        "Image": image,
        "Entrypoint": ["nvidia-smi"],
        "Cmd": ["-L"],
        "Labels": {LOOK_LABEL: "1"},
        "HostConfig": {
            "NetworkMode": "none",
            "DeviceRequests": [request],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
        },
    }
    identifier = None
    try:
        identifier = containers.create(docker, body)
        docker.start(identifier)
        status = containers.wait_ended(docker, identifier, PROBE_S)
        output = docker.log_tail(identifier, "all")
    except CampaignError as exc:
        return _refused(str(exc))
    finally:
        if identifier is not None:
            containers.remove(docker, identifier)
    wanted, found = sorted(item.rpartition("=")[2] for item in devices), sorted(set(UUID.findall(output)))
    if status != 0 or not found:
        return {
            "verdict": "inconclusive",
            "reason": f"nvidia-smi -L inside the image ended with {status}: {output[-200:].strip()}",
        }
    if found != wanted:
        return {
            "verdict": "failed",
            "reason": f"of {len(wanted)} GPUs asked for ({', '.join(wanted)}) the container sees {len(found)}: {', '.join(found)}",
        }
    return {"verdict": "passed", "reason": f"the container sees {', '.join(found)}"}


def _refused(reason: str) -> dict[str, Any]:
    if NO_GPU_DRIVER in reason:
        return {"verdict": "failed", "reason": f"{GPU_HINT} ({reason})"}
    if "nvidia-smi" in reason and "not found" in reason:
        return {
            "verdict": "inconclusive",
            "reason": "GPU requests are served, and the image has no nvidia-smi to list the devices with",
        }
    return {"verdict": "failed", "reason": f"Docker can't give a container the GPUs: {reason}"}
