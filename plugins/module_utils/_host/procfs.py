# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes as /proc shows them. An identity is (boot id, pid, start time): a bare pid is never trusted."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """One process for as long as the machine is up: ``start_ticks`` is field 22 of /proc/pid/stat."""

    boot_id: str
    pid: int
    start_ticks: int


def boot_id() -> str:
    """Changes with every boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def identity_of(pid: int) -> ProcessIdentity | None:
    """None where the process is gone or only a zombie."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else ProcessIdentity(boot_id(), pid, int(fields[19]))


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether exactly that process still runs."""
    return identity_of(identity.pid) == identity


def command_line(pid: int) -> tuple[str, ...]:
    """The arguments, or none for a kernel thread and for a process that is gone."""
    try:
        data = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(data.decode("utf-8", "replace").rstrip("\0").split("\0")) if data else ()


def environment_value(pid: int, name: str) -> str | None:
    """One variable of a process's start environment; None where it is not set or may not be read."""
    prefix = name.encode() + b"="
    with contextlib.suppress(OSError):
        for entry in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode("utf-8", "replace")
    return None


def pids() -> Iterator[int]:
    """All processes but this one."""
    own = os.getpid()
    for entry in os.listdir(PROC):
        if entry.isdigit() and int(entry) != own:
            yield int(entry)


def parent_of(pid: int) -> int | None:
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def listening_ports(pid: int) -> frozenset[int]:
    """TCP ports that the process listens on."""
    ports = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                cells = line.split()
                if cells[3] == "0A":
                    ports[f"socket:[{cells[9]}]"] = int(cells[1].rsplit(":", 1)[1], 16)
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in (PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(ports.get(os.readlink(descriptor)))
    return frozenset(port for port in found if port is not None)


def is_group_leader(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return os.getpgid(pid) == pid
    return False


def send(identity: ProcessIdentity, number: signal.Signals) -> None:
    """Signals the process and, where it leads its group, the group. Never a process that took over the pid."""
    if not is_alive(identity):
        return
    with contextlib.suppress(ProcessLookupError):
        if is_group_leader(identity.pid):
            os.killpg(identity.pid, number)
        else:
            os.kill(identity.pid, number)


def wait_gone(identity: ProcessIdentity, limit_s: float) -> bool:
    """Waits until the process is gone, by pidfd, so that it is noticed at once. False after ``limit_s``."""
    deadline = time.monotonic() + limit_s
    try:
        handle = os.pidfd_open(identity.pid)
    except (OSError, AttributeError):
        handle = -1
    try:
        while is_alive(identity):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if handle >= 0:
                select.select([handle], [], [], min(left, 1.0))
            else:
                time.sleep(min(left, 0.05))
        return True
    finally:
        if handle >= 0:
            os.close(handle)


def stop(identity: ProcessIdentity, stop_s: float) -> str:
    """SIGTERM, then SIGKILL after ``stop_s``. Returns how it went: ``gone``, ``terminated``, ``killed`` or ``unkillable``."""
    if not is_alive(identity):
        return "gone"
    send(identity, signal.SIGTERM)
    if wait_gone(identity, stop_s):
        return "terminated"
    send(identity, signal.SIGKILL)
    return "killed" if wait_gone(identity, 10.0) else "unkillable"


def oom_kills() -> int | None:
    """The kernel's count of OOM kills since boot; a difference around an exit names the killer."""
    with contextlib.suppress(OSError, ValueError):
        for line in (PROC / "vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def _stat(pid: int) -> list[str] | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, a closing parenthesis too.
    return text[text.rindex(")") + 2 :].split()
