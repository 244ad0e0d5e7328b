# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else is writing to the cache: a download in progress has its lock, an abandoned one leaves its unfinished blob."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection
from pathlib import Path

from .layout import repo_folder
from .problem import Problem

#: A blob that has grown within this time is being written, whatever its lock says (a lock over a network may not reach us).
FRESH_S = 30.0


def find_writers(hub: Path, repo: str, etags: Collection[str]) -> tuple[list[Problem], list[str]]:
    """Problems: a download that runs now, or an unfinished one of this snapshot's own blobs. Caveats: unfinished ones of nobody knows what.

    ``etags``: names of the blobs that belong to the snapshot, as far as they are known.
    """
    problems, caveats = [], []
    for lock in _held_locks(hub, repo):
        problems.append(Problem(f".locks/{lock}", "no writer", "a download in progress, which holds this lock"))
    blobs = repo_folder(hub, repo) / "blobs"
    for name in sorted(os.listdir(blobs)) if blobs.is_dir() else []:
        if not name.endswith(".incomplete"):
            continue
        try:
            age = time.time() - (blobs / name).stat().st_mtime
        except FileNotFoundError:
            continue
        if age < FRESH_S:
            problems.append(Problem(f"blobs/{name}", "no writer", f"a file written {max(0.0, age):.0f} s ago"))
        elif name.split(".", 1)[0] in etags:
            problems.append(Problem(f"blobs/{name}", "a finished blob", "one whose fetching was never finished"))
        else:
            caveats.append(f"blobs/{name} was never finished; no file of this snapshot is known to need it")
    return problems, caveats


def _held_locks(hub: Path, repo: str) -> list[str]:
    """Lock files stay behind for good; only one that is held says something. Asked for shared and without waiting, and let go at once."""
    folder = hub / ".locks" / repo_folder(hub, repo).name
    held = []
    for name in sorted(os.listdir(folder)) if folder.is_dir() else []:
        try:
            handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            held.append(f"{folder.name}/{name}")
        except OSError:
            pass  # a file system without locks: the age of an unfinished blob decides
        finally:
            os.close(handle)
    return held
