# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Hugging Face cache as it lies on disk: a snapshot's files, each with its link, its stamp and what the blob's name says.

Layout: huggingface_hub 2.4 (file_download, utils/_shared_blobs): ``snapshots/<revision>/<file>`` links to ``../../blobs/<etag>``, which is a
file or, for a blob that several repositories share, a link to ``<hub>/blobs/<xx>/<xet hash>``. The etag is a sha256 (LFS and xet) or a git-sha1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .problem import Problem

BLOB_SHA256 = re.compile(r"[0-9a-f]{64}")
BLOB_GIT_SHA1 = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Stamp:
    """What moves when a file's content or place does. A writer can set mtime back, but not ctime."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True)
class SnapshotFile:
    """One file of a snapshot. ``algorithm`` follows from the blob's name: sha256, git-sha1, or None without a hash name."""

    name: str
    path: Path
    link: str | None
    stamp: Stamp
    algorithm: str | None
    expected: str | None

    @property
    def size(self) -> int:
        return self.stamp.size


def repo_folder(hub: Path, repo: str) -> Path:
    """``models--ORG--NAME`` below the hub."""
    return hub / f"models--{repo.replace('/', '--')}"


def snapshot_folder(hub: Path, repo: str, revision: str) -> Path:
    """The folder named by the pinned revision. Refs are never looked at."""
    return repo_folder(hub, repo) / "snapshots" / revision


def stamp_of(path: str | Path) -> Stamp:
    """Of the content, behind all links."""
    found = os.stat(path)
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def walk(folder: str, prefix: str = "") -> Iterator[tuple[str, str, str | None]]:
    """(name, path, link text) of everything below that is no real folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_symlink():
                yield name, entry.path, os.readlink(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path, f"{name}/")
            else:
                yield name, entry.path, None


def read_snapshot(hub: Path, repo: str, revision: str) -> tuple[list[SnapshotFile], list[Problem]]:
    """All files of the pinned snapshot, sorted by name, and what is wrong with the layout."""
    snapshot = snapshot_folder(hub, repo, revision)
    if not snapshot.is_dir():
        return [], [_no_snapshot(hub, repo, revision)]
    reader = _Reader(hub, repo)
    found = [reader.read(*item) for item in sorted(walk(str(snapshot)))]
    problems = [item for item in found if isinstance(item, Problem)]
    files = [item for item in found if isinstance(item, SnapshotFile)]
    if not found:
        problems.append(Problem(f"snapshots/{revision}", "files", "an empty folder"))
    return files, problems


def _no_snapshot(hub: Path, repo: str, revision: str) -> Problem:
    repository = repo_folder(hub, repo)
    others = sorted(path.name for path in (repository / "snapshots").glob("*")) if repository.is_dir() else []
    found = f"no {repository.name} in {hub}"
    if repository.is_dir():
        found = f"snapshots {', '.join(others)}" if others else "no snapshot"
    return Problem(f"snapshots/{revision}", "a folder named by the pinned revision", found)


class _Reader:
    """Judges each entry of one snapshot; messages name places relative to the cache."""

    def __init__(self, hub: Path, repo: str) -> None:
        self.root = os.path.realpath(hub)
        self.blobs = os.path.realpath(repo_folder(hub, repo) / "blobs")

    def read(self, name: str, path: str, link: str | None) -> SnapshotFile | Problem:
        real = os.path.realpath(path)
        if real != self.root and not real.startswith(self.root + os.sep):
            return Problem(name, "a file inside the cache", "a link that leaves it, to " + real)
        try:
            stamp = stamp_of(path)
        except PermissionError:
            return Problem(name, "a readable file", "no permission to reach it")
        except OSError:
            return Problem(name, "a file", f"a dangling link to {link}")
        if os.path.isdir(real):
            return Problem(name, "a file", f"a link to the folder {os.path.relpath(real, self.root)}")
        if not os.access(real, os.R_OK):
            return Problem(name, "a readable file", "no permission to read it")
        if link is None:
            # A real file in the snapshot: its name says nothing of its content.
            return SnapshotFile(name, Path(path), None, stamp, None, None)
        # The first link counts, not the last: a shared blob has another hash for its name.
        place, etag = os.path.split(os.path.join(os.path.dirname(path), link))
        if os.path.realpath(place) != self.blobs:
            return Problem(
                name, "a link to a blob of its own repository", f"a link to {os.path.relpath(real, self.root)}"
            )
        algorithm = "sha256" if BLOB_SHA256.fullmatch(etag) else "git-sha1" if BLOB_GIT_SHA1.fullmatch(etag) else None
        return SnapshotFile(name, Path(path), link, stamp, algorithm, etag if algorithm else None)
