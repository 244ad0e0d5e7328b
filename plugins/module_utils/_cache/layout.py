# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Hugging Face cache as it lies on disk: a snapshot's files, each with its link, its blob and what the blob's name says."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

BLOB_SHA256 = re.compile(r"[0-9a-f]{64}")
BLOB_GIT_SHA1 = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class SnapshotFile:
    """One file of a snapshot. ``algorithm`` follows from the blob's name: sha256, git-sha1, or None without a hash name."""

    name: str
    path: Path
    blob: Path
    size: int
    algorithm: str | None
    expected: str | None


@dataclass(frozen=True, order=True)
class Problem:
    """Something that isn't as it has to be: the file, what was expected, what was found."""

    file: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.file}: expected {self.expected}, found {self.found}"


def repo_folder(hub: Path, repo: str) -> Path:
    """``models--ORG--NAME`` below the hub."""
    return hub / f"models--{repo.replace('/', '--')}"


def read_snapshot(hub: Path, repo: str, revision: str) -> tuple[list[SnapshotFile], list[Problem]]:
    """All files of the pinned snapshot, sorted by name, and what is wrong with the layout. Never looks at refs."""
    repository = repo_folder(hub, repo)
    snapshot = repository / "snapshots" / revision
    if not snapshot.is_dir():
        others = sorted(path.name for path in (repository / "snapshots").glob("*")) if repository.is_dir() else []
        found = (
            f"snapshots {', '.join(others)}"
            if others
            else ("no snapshot" if repository.is_dir() else f"no {repository.name} in {hub}")
        )
        return [], [Problem(f"snapshots/{revision}", "a folder named by the pinned revision", found)]
    files: list[SnapshotFile] = []
    problems: list[Problem] = []
    root = Path(os.path.realpath(hub))
    for path in sorted(path for path in snapshot.rglob("*") if path.is_symlink() or not path.is_dir()):
        name = str(path.relative_to(snapshot))
        blob = Path(os.path.realpath(path))
        if not blob.exists():
            problems.append(
                Problem(name, "a file", f"a dangling link to {os.readlink(path) if path.is_symlink() else blob}")
            )
        elif root not in blob.parents:
            problems.append(Problem(name, f"a file inside {root}", f"a link that leaves it, to {blob}"))
        elif not os.access(blob, os.R_OK):
            problems.append(Problem(name, "a readable file", "no permission to read it"))
        else:
            files.append(_file(name, path, blob))
    for partial in sorted((repository / "blobs").glob("*.incomplete")):
        problems.append(
            Problem(f"blobs/{partial.name}", "no unfinished download", "one that is not finished, or still running")
        )
    if not files and not problems:
        problems.append(Problem(f"snapshots/{revision}", "files", "an empty folder"))
    return files, sorted(problems)


def _file(name: str, path: Path, blob: Path) -> SnapshotFile:
    algorithm: str | None = None
    # Only a link into blobs/ gives the name a meaning; a real file in the snapshot says nothing of its content.
    if path.is_symlink() and blob.parent.name == "blobs":
        if BLOB_SHA256.fullmatch(blob.name):
            algorithm = "sha256"
        elif BLOB_GIT_SHA1.fullmatch(blob.name):
            algorithm = "git-sha1"
    return SnapshotFile(name, path, blob, blob.stat().st_size, algorithm, blob.name if algorithm else None)
