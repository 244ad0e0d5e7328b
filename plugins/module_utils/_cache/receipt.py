# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an earlier proof of a snapshot is worth now: nothing that has moved since, and nothing of another file or revision.

A stamp says that nobody wrote; it says nothing of bits that decay. ``campaign_reverify`` reads everything again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .layout import SnapshotFile, Stamp, repo_folder, snapshot_folder, stamp_of, walk
from .wanted import Wanted

PARTS = {"schema", "key", "verified_at", "report", "tree", "files"}
SCHEMA = "tandem.snapshot-receipt/v1"
#: A file written within this time of its stamp may be written again without moving it: clocks of file systems are coarse.
COARSE_NS = 2_000_000_000

Receipt = Mapping[str, Any]


def make_receipt(
    hub: Path,
    wanted: Wanted,
    report: Mapping[str, Any],
    files: list[SnapshotFile],
    digests: Mapping[str, Any],
    began_ns: int,
) -> dict[str, Any]:
    """Of a proof by content. ``digests``: name -> {algorithm: hex digest} as computed."""
    return {
        "schema": SCHEMA, "key": key_of(hub, wanted), "verified_at": report["verified_at"], "report": dict(report),
        "tree": _tree_stamp(hub, wanted),
        "files": {
            file.name: {"link": file.link, "stamp": _plain(file.stamp), "digests": digests[file.name]}
            for file in files
            if file.name in digests and max(file.stamp.mtime_ns, file.stamp.ctime_ns) < began_ns - COARSE_NS
        },
    }  # fmt: skip


def key_of(hub: Path, wanted: Wanted) -> list[Any]:
    """What a receipt is of. Another manifest or other required files are another proof."""
    return [
        os.path.realpath(hub), wanted.repo, wanted.revision, wanted.file, list(wanted.required_files), dict(wanted.sha256), wanted.remote_code,
    ]  # fmt: skip


def is_of(receipt: Receipt | None, hub: Path, wanted: Wanted) -> bool:
    return receipt is not None and receipt["key"] == key_of(hub, wanted)


def etags_of(receipt: Receipt) -> set[str]:
    """Names of the blobs that it speaks of."""
    return {digest for entry in receipt["files"].values() for digest in entry["digests"].values()}


def is_unchanged(receipt: Receipt, hub: Path, wanted: Wanted) -> bool:
    """By stat alone: the same names, links and stamps, each still readable, and the same listing of the hub."""
    kept = receipt["files"]
    if len(kept) != len(receipt["report"]["files"]) or receipt["tree"] != _tree_stamp(hub, wanted):
        return False
    seen = 0
    try:
        for name, path, link in walk(str(snapshot_folder(hub, wanted.repo, wanted.revision))):
            entry = kept.get(name)
            if (
                entry is None
                or entry["link"] != link
                or entry["stamp"] != _plain(stamp_of(path))
                or not os.access(path, os.R_OK)
            ):
                return False
            seen += 1
    except OSError:
        return False
    return seen == len(kept)


def vouched(receipt: Receipt | None, file: SnapshotFile) -> dict[str, str]:
    """{algorithm: digest} that still holds for this file, empty where it has moved."""
    entry = receipt["files"].get(file.name) if receipt else None
    if entry is None or entry["link"] != file.link or entry["stamp"] != _plain(file.stamp):
        return {}
    return dict(entry["digests"])


def _plain(stamp: Stamp) -> list[int]:
    return [stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode]


def _tree_stamp(hub: Path, wanted: Wanted) -> list[int] | None:
    try:
        return _plain(stamp_of(repo_folder(hub, wanted.repo) / "trees" / f"{wanted.revision}.json"))
    except OSError:
        return None
