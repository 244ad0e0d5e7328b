# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine's log on disk: its head, its tail, the last sign of life. Bounded."""

from __future__ import annotations

import time
from pathlib import Path

from .._words.text import plain_lines

#: An engine with NCCL's own lines writes about half a megabyte until it is ready.
HEAD = 4 * 2**20
TAIL = 256 * 1024


def read_tail(log: Path) -> str:
    """The end of a log."""
    return _read(log, -TAIL)


def read_head(log: Path) -> str:
    """The beginning of a log."""
    return _read(log, HEAD)


def last_line(log: Path) -> str:
    """The last line that says something, made plain."""
    lines = plain_lines(read_tail(log), 1, 120)
    return lines[-1] if lines else ""


def silent_s(log: Path) -> float | None:
    """Seconds since the log last grew; None where there is none."""
    try:
        return max(0.0, time.time() - log.stat().st_mtime)
    except OSError:
        return None


def _read(log: Path, size: int) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size + size) if size < 0 else 0)
            return stream.read(abs(size)).decode("utf-8", "replace")
    except OSError:
        return ""
