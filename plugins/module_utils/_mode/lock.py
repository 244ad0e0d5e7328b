# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One owner a host: flock on a file of the whole host. Staleness is a fact, as the kernel drops the lock with its holder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._host.procfs import ProcessIdentity, boot_id, identity_of, is_alive, stop
from .._words.documents import canonical_json
from .._words.errors import CampaignError, RefusedError

DEFAULT_LOCK = "/run/lock/tandem-campaign.lock"


@dataclass(frozen=True)
class HostLock:
    """The held lock. ``stale``: who had written into it and never let go in order: a crash, a power cut."""

    handle: int
    stale: dict[str, Any]

    def claim(self, who: dict[str, Any]) -> None:
        """Writes who holds it, for those who look."""
        os.truncate(self.handle, 0)
        os.pwrite(self.handle, canonical_json({**who, "pid": os.getpid(), "boot": boot_id()}).encode() + b"\n", 0)

    def release(self) -> None:
        """In order: the file is emptied, so that the next one finds nothing stale."""
        os.truncate(self.handle, 0)
        os.close(self.handle)


def take_host_lock(path: str) -> HostLock:
    """Takes the host's lock for this process. Raises :class:`RefusedError` with the holder."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as exc:
        raise RefusedError(f"the host's lock {path} can't be opened: {exc.strerror}", path=path) from exc
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        os.close(handle)
        holder = lock_holder(path)
        raise RefusedError(
            f"this host is already reserved by campaign {holder.get('campaign', 'unknown')!r} since {holder.get('since', 'an unknown time')} "
            f"(pid {holder.get('pid', '?')}, state in {holder.get('state_dir', '?')}). To look: cat {path}. "
            "It ends with its campaign, or by restore.yml on this host.",
            holder=holder,
        ) from exc
    return HostLock(handle, lock_holder(path))


def describe_stale(holder: dict[str, Any]) -> str:
    """One sentence on a lock that nobody holds any more."""
    boot = "before the last boot" if holder.get("boot") not in (None, boot_id()) else "by a process that is gone"
    return f"stale lock of campaign {holder.get('campaign', 'unknown')!r} since {holder.get('since', 'an unknown time')}, left {boot}"


def lock_holder(path: str) -> dict[str, Any]:
    """What the holder wrote; empty where nothing readable is there."""
    with contextlib.suppress(OSError, ValueError):
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(document, dict):
            return document
    return {}


def lock_is_held(path: str) -> bool:
    """Whether a living process holds the host's lock."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def operation(folder: Path, what: str, *, takeover: bool = False) -> Iterator[bool]:
    """At most one process changes the host at a time. ``takeover`` ends the one that does, by its exact identity.

    Yields False where the reservation was resolved while this process waited: there is nothing left to change then.
    """
    handle = os.open(folder / "operation.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(handle, folder / "operation.json", takeover)
        if not _is_still_there(handle, folder / "operation.lock"):
            yield False
            return
        own = identity_of(os.getpid())
        if own is not None:
            (folder / "operation.json").write_text(canonical_json({**vars(own), "what": what}), encoding="utf-8")
        yield True
    finally:
        os.close(handle)


def _is_still_there(handle: int, path: Path) -> bool:
    """Whether the locked file is still the one of that name: a resolved reservation's folder was moved away."""
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _take(handle: int, note: Path, takeover: bool) -> None:
    deadline = time.monotonic() + (30.0 if takeover else 5.0)
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _holder(note)
            if time.monotonic() > deadline:
                raise CampaignError(
                    f"another operation holds this host ({holder or 'unknown'}); wait for it, or run restore.yml"
                ) from None
            if takeover and holder is not None and holder.pid != os.getpid() and is_alive(holder):
                stop(holder, 2.0)
            time.sleep(0.05)


def _holder(note: Path) -> ProcessIdentity | None:
    try:
        document = json.loads(note.read_text(encoding="utf-8"))
        holder = ProcessIdentity(document["boot_id"], document["pid"], document["start_ticks"])
    except (OSError, ValueError, KeyError):
        return None
    return holder if holder.boot_id == boot_id() else None
