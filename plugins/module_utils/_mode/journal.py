# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a reservation: append-only lines, each checksummed and on disk before the step it speaks of goes on."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .._evidence.record import utc
from .._evidence.store import disk_error, sync_folder
from .._host.procfs import boot_id
from .._words.documents import canonical_json, sha256_of
from .._words.errors import EvidenceError

SCHEMA = "tandem.journal/v1"
Kind = Literal["note", "intent", "result"]


@dataclass(frozen=True)
class Record:
    """One line. ``step`` names what is done (``stop:omni``); an intent without its result is a step of unknown end."""

    n: int
    at: str
    boot: str
    kind: Kind
    step: str
    data: dict[str, Any] = field(default_factory=dict)


class Journal:
    """Opens (and continues) a journal. Threads may append at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._size = -1
        self._next = 0

    def append(self, record_kind: Kind, record_step: str, **data: Any) -> None:
        """Writes one record and syncs it. A torn last line of an earlier writer is cut off first."""
        with self._lock:
            try:
                if self._size < 0:
                    self._open()
                record = {
                    "n": self._next,
                    "at": utc(time.time()),
                    "boot": boot_id(),
                    "kind": record_kind,
                    "step": record_step,
                    "data": data,
                }
                line = canonical_json({**record, "sum": _sum(record)}).encode() + b"\n"
                with self.path.open("ab") as stream:
                    stream.write(line)
                    stream.flush()
                    os.fsync(stream.fileno())
            except OSError as exc:
                raise disk_error(self.path, exc) from exc
            self._next += 1

    def _open(self) -> None:
        fresh = not self.path.exists()
        if fresh:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            sync_folder(self.path.parent)
        records, self._size = _parse(self.path)
        os.truncate(self.path, self._size)
        self._next = records[-1].n + 1 if records else 0


def read_journal(path: Path) -> list[Record]:
    """All whole records. A torn last line is left out; damage before it is an :class:`EvidenceError`."""
    return _parse(path)[0] if path.exists() else []


def _parse(path: Path) -> tuple[list[Record], int]:
    """The records and the size of the file up to the end of the last one."""
    lines = path.read_bytes().split(b"\n")
    # What stands behind the last newline is a torn line; an ordinary file has nothing there.
    last = len(lines) - 2
    records: list[Record] = []
    size = 0
    for number, line in enumerate(lines[:-1]):
        record = _record(line)
        if record is None and number == last and not lines[-1]:
            break
        if record is None or record.n != len(records):
            raise EvidenceError(
                f"{path}: line {number + 1} is damaged, so it can't be known what was stopped. "
                "Start the services by hand, compare with state-before.json beside it, then move the folder away.",
                path=str(path),
                line=number + 1,
            )
        records.append(record)
        size += len(line) + 1
    return records, size


def _record(line: bytes) -> Record | None:
    """None where the line is not whole: no JSON, or another text than its checksum speaks of."""
    try:
        document = json.loads(line)
        return Record(**document) if document.pop("sum") == _sum(document) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _sum(record: dict[str, Any]) -> str:
    return sha256_of({"schema": SCHEMA, **record})[:16]
