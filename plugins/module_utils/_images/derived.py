# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Derived images: found by their labels, believed only for what is inside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from .._host import docker_containers as containers
from .._host.container import LOOK_LABEL
from .._host.docker import Docker
from .image import described
from .patches import MANIFEST
from .store import inspect_image, list_images

LABEL_BASE, LABEL_SET, LABEL_HASH = (
    "tandem.campaign.base",
    "tandem.campaign.patch-set",
    "tandem.campaign.patch-set-sha256",
)


def find_derived(docker: Docker, derived: Mapping[str, Any], image: str, *, look_inside: bool = True) -> dict[str, Any]:
    """The report of the newest image with these labels: its manifest and every patched file are read back, its layers begin with the base's.

    ``derived``: ``{base, patch_set, sha256}``. Not built, or built from something else, is a problem.
    """
    candidates = [
        item
        for item in list_images(docker, f"{LABEL_HASH}={derived['sha256']}")
        if (item.get("Labels") or {}).get(LABEL_BASE) == derived["base"]
    ]
    report: dict[str, Any] = {"image": image, "id": None, "problems": []}
    if not candidates:
        text = f"image {image} is not built on this host; build it before: ansible-playbook tandem.campaign.images -l <this host>"
        return {**report, "problems": [text]}
    newest = max(candidates, key=lambda item: int(item.get("Created") or 0))
    document = inspect_image(docker, str(newest["Id"]))
    if document is None:
        return {**report, "problems": [f"image {image} went away while it was looked at"]}
    report |= {**described(document), "index_digest": None, "platform_digest": None}
    report |= {"base": derived["base"], "patch_set": derived["patch_set"], "patch_set_sha256": derived["sha256"]}
    base = inspect_image(docker, str(derived["base"]))
    layers = list(((base or {}).get("RootFS") or {}).get("Layers") or [])
    if base is not None and report["layers"][: len(layers)] != layers:
        report["problems"].append(f"image {report['id']} has the labels of {image}, and is not made from that base")
    manifest, problems = _manifest(docker, str(report["id"]), derived) if look_inside else (None, [])
    return {**report, "manifest": manifest, "problems": report["problems"] + problems}


def _manifest(docker: Docker, identifier: str, derived: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """The manifest, and what inside the image differs from it."""
    container = containers.create(docker, {"Image": identifier, "Cmd": ["true"], "Labels": {LOOK_LABEL: "1"}})
    try:
        data = containers.read_file(docker, container, MANIFEST)
        if data is None:
            return None, [f"image {identifier} has no {MANIFEST}"]
        manifest: dict[str, Any] = json.loads(data)
        problems = []
        if (manifest.get("base"), manifest.get("patch_set_sha256")) != (derived["base"], derived["sha256"]):
            problems.append(f"image {identifier}: its manifest speaks of another base or patch set")
        for entry in manifest.get("files") or []:
            content = containers.read_file(docker, container, str(entry["path"]))
            found = hashlib.sha256(content).hexdigest() if content is not None else "no file"
            if found != entry["after"]:
                problems.append(
                    f"image {identifier}: {entry['path']} has sha256 {found}, its manifest says {entry['after']}"
                )
        return manifest, problems
    finally:
        containers.remove(docker, container)
