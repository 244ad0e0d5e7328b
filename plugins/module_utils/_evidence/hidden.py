# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine's key has no form that could be known; so whoever works with it keeps it out of what is said and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._words.secret_forms import KEY, SHORTEST_KEY
from .say import hide
from .store import write_bytes


@contextmanager
def key_hidden(key_file: str | None, finished: Path | None) -> Iterator[None]:
    """Meanwhile the key is in no output of this program, and afterwards in no file of the folder ``finished``, whoever wrote it there.

    None while an engine still writes its log there: a file that is replaced would lose what comes after.
    """
    key = _read(key_file)
    if len(key) < SHORTEST_KEY:
        yield
        return
    hide(key)
    try:
        yield
    finally:
        for file in finished.rglob("*") if finished else ():
            if file.is_file() and not file.is_symlink():
                _without(file, key.encode())


def _read(key_file: str | None) -> str:
    """A file that can't be read is a fault of its own, told where the key is needed."""
    try:
        return Path(key_file).read_text(encoding="utf-8").strip() if key_file else ""
    except (OSError, ValueError):
        return ""


def _without(file: Path, key: bytes) -> None:
    data = file.read_bytes()
    if key in data:
        write_bytes(file, data.replace(key, KEY.encode()))
