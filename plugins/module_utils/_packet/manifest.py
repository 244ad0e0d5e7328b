# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest: every file's sha256 and size, so that one signature covers the packet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._words.errors import EvidenceError
from .folder import MANIFEST, PacketFolder, parsed
from .problem import Problem

MANIFEST_SCHEMA = "tandem.manifest/v1"
SHA256 = re.compile(r"[0-9a-f]{64}")


def manifest_document(packet: PacketFolder, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of what lies there now."""
    files = {path: {"sha256": packet.sha256(path), "size": info.st_size} for path, info in packet.evidence.items()}
    return {"schema": MANIFEST_SCHEMA, "identity": dict(identity), "files": files}


def manifest_problems(packet: PacketFolder, prefix: str = "") -> Iterator[Problem]:
    """What doesn't agree with the manifest below ``prefix``: missing, changed, not listed."""
    try:
        manifest = parsed_manifest(packet)
    except EvidenceError as exc:
        yield Problem("manifest", MANIFEST, str(exc))
        return
    listed = {path: entry for path, entry in manifest["files"].items() if path.startswith(prefix)}
    if not listed:
        yield Problem("manifest", prefix or MANIFEST, "nothing is listed")
    for path, entry in listed.items():
        if path not in packet.evidence:
            yield Problem("manifest", path, "is listed and not there")
            continue
        try:
            found = packet.sha256(path)
        except EvidenceError as exc:
            yield Problem("file", path, str(exc))
            continue
        if found != entry.get("sha256") or packet.evidence[path].st_size != entry.get("size"):
            yield Problem("manifest", path, f"sha256 is {found}, the manifest has {entry.get('sha256')}")
    for path in sorted(set(packet.names(prefix)) - set(listed)):
        yield Problem("manifest", path, "is not in the manifest")


def published_part(packet: PacketFolder) -> dict[str, Any] | None:
    """``{of, redacted}`` of a published copy: the sha256 of the manifest that it was made from, and the files whose content differs; None otherwise."""
    try:
        part = parsed_manifest(packet).get("published")
    except EvidenceError:
        return None
    return part if isinstance(part, dict) and isinstance(part.get("redacted"), list) else None


def parsed_manifest(packet: PacketFolder) -> dict[str, Any]:
    """Its document, in the shape that it has to have."""
    try:
        manifest = parsed(MANIFEST, (packet.root / MANIFEST).read_bytes())
    except OSError as exc:
        raise EvidenceError(f"{MANIFEST} can't be read: {exc.strerror}") from exc
    files = manifest.get("files")
    if manifest.get("schema") != MANIFEST_SCHEMA or not isinstance(files, dict):
        raise EvidenceError(f"schema is {manifest.get('schema')!r}, this version reads {MANIFEST_SCHEMA!r} with files")
    wrong = next(
        (
            path
            for path, entry in files.items()
            if not (isinstance(entry, dict) and SHA256.fullmatch(str(entry.get("sha256"))))
        ),
        None,
    )
    if wrong is not None:
        raise EvidenceError(f"{wrong!r} has no sha256")
    return manifest
