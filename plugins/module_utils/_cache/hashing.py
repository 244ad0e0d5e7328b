# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Content hashes of files: one thread a core, as hashing releases the GIL; the largest file first, so that the last one is short.

One file is serial, so F equal shards on N cores reach F / (N x ceil(F/N)) of the cores' rate.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

BLOCK = 2**20
#: Called with (bytes hashed so far, bytes in all).
Progress = Callable[[int, int], None]


def hash_files(wanted: Mapping[str, tuple[Path, int, frozenset[str]]], progress: Progress) -> dict[str, dict[str, str]]:
    """name -> (path, size, algorithms) to name -> {algorithm: hex digest}. Raises ``OSError`` where a file can't be read."""
    total, done, lock = sum(size for _path, size, _algorithms in wanted.values()), 0, Lock()

    def count(size: int) -> None:
        nonlocal done
        with lock:
            done += size
            progress(done, total)

    largest_first = sorted(wanted, key=lambda name: -wanted[name][1])
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        digests = pool.map(lambda name: content_hashes(wanted[name][0], wanted[name][2], count), largest_first)
        return dict(zip(largest_first, digests, strict=True))


def content_hashes(
    path: Path, algorithms: frozenset[str], count: Callable[[int], None] = lambda _size: None
) -> dict[str, str]:
    """Hex digests of one reading: ``sha256``, and ``git-sha1`` (sha1 over "blob <size>" NUL and the content)."""
    digests: dict[str, Any] = {name: _begun(name, path) for name in sorted(algorithms)}
    buffer = bytearray(BLOCK)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as stream:
        while size := stream.readinto(buffer):
            for digest in digests.values():
                digest.update(view[:size])
            count(size)
    return {name: digest.hexdigest() for name, digest in digests.items()}


def _begun(algorithm: str, path: Path) -> Any:
    return hashlib.sha256() if algorithm == "sha256" else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
