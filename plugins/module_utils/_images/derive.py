# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a derived image: the pinned base, edited by an ordered patch set, in a container that is never started."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._evidence.record import utc
from .._host import docker_containers as containers
from .._host.archive import packed
from .._host.container import LOOK_LABEL
from .._host.docker import Docker
from .._words.errors import RefusedError
from .._words.patch import Patch, PatchSet
from .derived import LABEL_BASE, LABEL_HASH, LABEL_SET, find_derived
from .patches import MANIFEST, patched, wheel_files
from .store import commit, inspect_image

COMPILE_S = 120.0
#: Compiles the patched files with the image's own Python; writes nothing.
COMPILE = "import sys\nfor path in sys.argv[1:]: compile(open(path, encoding='utf-8').read(), path, 'exec')"


def derive_image(
    docker: Docker, base: str, patch_set: PatchSet, sha256: str, wheels: Mapping[str, str], tell: Callable[[str], None]
) -> dict[str, Any]:
    """The derived image's report with ``changed``. An image of this base and patch set that is there already is checked and kept.

    ``wheels``: a wheel's name in the patch set -> its file on this host. Raises :class:`RefusedError` that names the file where a guard fails.
    """
    derived = {"base": base, "patch_set": patch_set.name, "sha256": sha256}
    name = f"{base} + {patch_set.name}"
    present = find_derived(docker, derived, name)
    if not present["problems"]:
        return {**present, "changed": False}
    document = inspect_image(docker, base)
    if document is None:
        raise RefusedError(f"base image {base} is not on this host; pull it first")
    container = containers.create(docker, {"Image": base, "Cmd": ["true"], "Labels": {LOOK_LABEL: "1"}})
    try:
        files: dict[str, bytes] = {}
        entries: list[dict[str, Any]] = []
        for patch in patch_set.patch:
            tell(f"{patch_set.name}: {patch.file or patch.wheel}")
            made = (
                _wheel(docker, container, patch_set, patch, wheels)
                if patch.wheel
                else _edit(docker, container, patch_set, patch, files)
            )
            files |= {path: data for path, (_before, data) in made.items()}
            entries += [
                {"path": path, "before": before, "after": hashlib.sha256(data).hexdigest(), "gate": patch.gate, "reason": patch.reason, "ticket": patch.ticket}
                for path, (before, data) in made.items()
            ]  # fmt: skip
        manifest = {
            "schema": "tandem.patch-manifest/v1", "base": base, "patch_set": patch_set.name, "patch_set_sha256": sha256,
            "proven": patch_set.proven, "unproven": patch_set.unproven, "built_at": utc(time.time()), "files": entries,
        }  # fmt: skip
        containers.put_archive(docker, container, packed({**files, MANIFEST: json.dumps(manifest, indent=1).encode()}))
        labels = {LABEL_BASE: base, LABEL_SET: patch_set.name, LABEL_HASH: sha256}
        identifier = commit(
            docker, container, labels, f"tandem-campaign/{patch_set.name}:{sha256[:12]}", document.get("Config") or {}
        )
    finally:
        containers.remove(docker, container)
    _compile_inside(docker, identifier, [path for path in files if path.endswith(".py")])
    report = find_derived(docker, derived, name)
    if report["problems"]:
        raise RefusedError("; ".join(report["problems"]))
    return {**report, "changed": True}


def _edit(
    docker: Docker, container: str, patch_set: PatchSet, patch: Patch, done: Mapping[str, bytes]
) -> dict[str, tuple[str | None, bytes]]:
    """The file is looked for below each root; two of it would leave open which one the engine imports."""
    found = {}
    for root in patch_set.roots:
        path = f"{root}/{patch.file}"
        data = done.get(path) or containers.read_file(docker, container, path)
        if data is not None:
            found[path] = data
    if len(found) != 1:
        where = ", ".join(found) or f"none of {', '.join(patch_set.roots)}"
        raise RefusedError(f"{patch.file}: it has to be below exactly one root, it is below {where}", file=patch.file)
    path, data = next(iter(found.items()))
    return {path: (patch.sha256, patched(patch, path, data))}


def _wheel(
    docker: Docker, container: str, patch_set: PatchSet, patch: Patch, wheels: Mapping[str, str]
) -> dict[str, tuple[str | None, bytes]]:
    """Into the first root that is a folder of Python packages and is there."""
    file = wheels.get(str(patch.wheel))
    if file is None:
        raise RefusedError(f"{patch.wheel}: its file was not fetched to this host ({patch.url})", file=patch.wheel)
    roots = [
        root
        for root in patch_set.roots
        if root.endswith(("dist-packages", "site-packages")) and containers.exists(docker, container, root)
    ]
    if not roots:
        raise RefusedError(
            f"{patch.wheel}: none of the roots is a folder of Python packages in this image", file=patch.wheel
        )
    return {path: (None, data) for path, data in wheel_files(patch, Path(file).read_bytes(), roots[0]).items()}


def _compile_inside(docker: Docker, image: str, paths: list[str]) -> None:
    """With the image's own Python, without network or GPU."""
    body = {
        "Image": image, "Entrypoint": ["python3"], "Cmd": ["-c", COMPILE, *paths], "Labels": {LOOK_LABEL: "1"},
        "HostConfig": {"NetworkMode": "none", "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"]},
    }  # fmt: skip
    container = containers.create(docker, body)
    try:
        docker.start(container)
        if containers.wait_ended(docker, container, COMPILE_S) != 0:
            raise RefusedError(f"the patched files do not compile inside {image}: {docker.log_tail(container)[-400:]}")
    finally:
        containers.remove(docker, container)
