# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot proof: the pinned revision, complete and byte-exact, offline. Collects every problem before it judges."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from .._words.documents import sha256_of
from .gguf import GgufError, read_header
from .layout import Problem, SnapshotFile, read_snapshot
from .safetensors import SafetensorsError, read_index, read_shard

BLOCK = 2**20
Depth = Literal["structure", "hash"]
#: Called with (bytes hashed so far, bytes in all).
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SnapshotReport:
    """What was found. ``proof`` is a hash over every file's name, size and content hash; None where problems are."""

    repo: str
    revision: str
    depth: Depth
    files: tuple[tuple[str, int, str], ...]
    bytes: int
    problems: tuple[Problem, ...]
    caveats: tuple[str, ...]
    proof: str | None


def verify_snapshot(
    hub: Path, repo: str, revision: str, depth: Depth, progress: Progress | None = None
) -> SnapshotReport:
    """Verifies one snapshot without any network. ``depth`` hash also recomputes every blob's content hash."""
    files, problems = read_snapshot(hub, repo, revision)
    problems += _structure(files)
    named = [file for file in files if file.algorithm]
    caveats = tuple(
        f"{file.name}: no hash in its name, only its structure was verified" for file in files if not file.algorithm
    )
    if depth == "hash":
        problems += _hash_all(named, progress or (lambda _done, _total: None))
    listing = tuple((file.name, file.size, file.expected or "unnamed") for file in files)
    proof = None if problems else sha256_of({"repo": repo, "revision": revision, "depth": depth, "files": listing})
    return SnapshotReport(
        repo, revision, depth, listing, sum(file.size for file in files), tuple(sorted(problems)), caveats, proof
    )


def _structure(files: list[SnapshotFile]) -> list[Problem]:
    problems: list[Problem] = []
    shards: dict[str, frozenset[str]] = {}
    for file in files:
        try:
            if file.name.endswith(".gguf"):
                header = read_header(file.blob)
                if file.size < header.needed_size:
                    raise GgufError(f"{file.size} bytes, its tensor table needs {header.needed_size}")
            elif file.name.endswith(".safetensors"):
                shards[file.name] = read_shard(file.blob).tensors
        except (GgufError, SafetensorsError, KeyError, TypeError) as exc:
            problems.append(Problem(file.name, "a whole weight file", str(exc)))
    for file in files:
        if file.name.endswith(".safetensors.index.json"):
            problems += _index(file, shards, {item.name for item in files})
    return problems


def _index(file: SnapshotFile, shards: dict[str, frozenset[str]], present: set[str]) -> list[Problem]:
    try:
        weight_map = read_index(file.blob)
    except SafetensorsError as exc:
        return [Problem(file.name, "an index", str(exc))]
    problems = [
        Problem(shard, f"a shard, as {file.name} lists it", "no such file in the snapshot")
        for shard in sorted(set(weight_map.values()) - present)
    ]
    for tensor, shard in sorted(weight_map.items()):
        if shard in shards and tensor not in shards[shard]:
            problems.append(Problem(shard, f"tensor {tensor}", "a header without it"))
    return problems


def _hash_all(files: list[SnapshotFile], progress: Progress) -> list[Problem]:
    """One thread a core (hashing releases the GIL), largest file first so that the last one is short."""
    total, done, lock = sum(file.size for file in files), 0, Lock()

    def count(size: int) -> None:
        nonlocal done
        with lock:
            done += size
            progress(done, total)

    largest_first = sorted(files, key=lambda file: -file.size)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = pool.map(lambda file: content_hash(file.blob, file.algorithm or "sha256", count), largest_first)
        pairs = list(zip(largest_first, found, strict=True))
    return [
        Problem(file.name, f"{file.algorithm} {file.expected}", f"{file.algorithm} {digest}")
        for file, digest in pairs
        if digest != file.expected
    ]


def content_hash(path: Path, algorithm: str, count: Callable[[int], None] = lambda _size: None) -> str:
    """Hex digest of a file: ``sha256``, or ``git-sha1`` (sha1 over "blob <size>" NUL and the content)."""
    digest = hashlib.sha256() if algorithm == "sha256" else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    buffer = bytearray(BLOCK)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as stream:
        while size := stream.readinto(buffer):
            digest.update(view[:size])
            count(size)
    return digest.hexdigest()
