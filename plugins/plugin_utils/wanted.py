# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the host has to be asked about for the lanes: snapshots, images, patch sets, its Docker Engine; each once."""

from __future__ import annotations

from typing import Any

from ..module_utils._engine.container_spec import image_name
from ..module_utils._words.documents import to_document
from ..module_utils._words.host import HostDeclaration
from .lane import Lane


def in_containers(lanes: list[Lane], host: HostDeclaration) -> list[Lane]:
    """The lanes whose engine is a container on this host."""
    return [lane for lane in lanes if host.runtime_of(lane.found.recipe.engine.runtime) == "docker"]


def unique_snapshots(lanes: list[Lane], host: HostDeclaration) -> list[dict[str, Any]]:
    """What snapshot_verify has to look at, each snapshot once; ``image`` is the one that would read it out of a volume. A rehearsal reads none."""
    wanted: dict[tuple[str, str], dict[str, Any]] = {}
    for lane in [] if host.rehearsal else lanes:
        model = lane.found.recipe.model
        document: dict[str, Any] = {
            "repo": model.repo,
            "revision": model.revision,
            "file": model.file,
            "required_files": list(model.required_files),
            "sha256": model.sha256,
            "remote_code": model.trust_remote_code,
        }
        if lane.found.recipe.engine.runtime == "docker":
            document["image"] = image_name(lane.found.recipe)
        wanted.setdefault((model.repo, model.revision), document)
    return list(wanted.values())


def unique_images(lanes: list[Lane], host: HostDeclaration) -> list[dict[str, Any]]:
    """What image_verify has to look at and images.yml to pull or build, each image once, with the devices it has to get."""
    wanted: dict[str, dict[str, Any]] = {}
    for lane in in_containers(lanes, host):
        recipe = lane.found.recipe
        roles = list(host.gpu_roles.values())[: recipe.needs.roles]
        cdi = host.docker_gpus == "cdi"
        devices = [f"nvidia.com/gpu={role.uuid}" if cdi else str(role.uuid) for role in roles if role.uuid]
        document: dict[str, Any] = {"image": image_name(recipe), "derived": None}
        if recipe.engine.derived and lane.patch_set:
            patch_set, sha256 = lane.patch_set
            document["derived"] = {"base": recipe.engine.derived.base, "patch_set": patch_set.name, "sha256": sha256}
        known = wanted.setdefault(document["image"], {**document, "devices": devices, "driver": "cdi" if cdi else ""})
        if len(devices) > len(known["devices"]):
            known["devices"] = devices
    return list(wanted.values())


def unique_patch_sets(lanes: list[Lane], host: HostDeclaration) -> list[dict[str, Any]]:
    """What images.yml builds: base, patch set with its hash, and the wheels that have to be fetched for it."""
    found = {}
    for lane in in_containers(lanes, host):
        derived = lane.found.recipe.engine.derived
        if derived and lane.patch_set:
            patch_set, sha256 = lane.patch_set
            wheels = [
                {"name": patch.wheel, "url": patch.url, "sha256": patch.sha256}
                for patch in patch_set.patch
                if patch.wheel
            ]
            found[image_name(lane.found.recipe)] = {
                "base": derived.base,
                "patch_set": to_document(patch_set),
                "sha256": sha256,
                "wheels": wheels,
            }
    return list(found.values())


def needs_docker(lanes: list[Lane], host: HostDeclaration) -> bool:
    """Whether the host is asked about its Docker Engine at all."""
    return bool(in_containers(lanes, host)) or host.cache.volume is not None
