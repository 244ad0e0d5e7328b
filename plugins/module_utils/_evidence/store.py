# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only writer of evidence: a file is written beside its place, synced, renamed, and the folder is synced. Never edited."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import IO, Any

from .._words.documents import canonical_json, to_document
from .._words.errors import CampaignError, EvidenceError


def write_json(path: Path, document: Any) -> None:
    """Writes ``document`` atomically, indented for people."""
    write_bytes(
        path,
        (
            json.dumps(to_document(document), indent=1, sort_keys=False, ensure_ascii=False, allow_nan=False) + "\n"
        ).encode(),
    )


def write_bytes(path: Path, data: bytes) -> None:
    """Atomic: readers see the old file or the whole new one, also after power loss."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
        sync_folder(path.parent)
    except OSError as exc:
        raise disk_error(path, exc) from exc


def disk_error(path: Path, exc: OSError) -> CampaignError:
    """What a failed write means to a person."""
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return CampaignError(
            f"no space left for {path}: free some, or put campaign_state_dir on a larger disk", path=str(path)
        )
    return CampaignError(f"{path} can't be written: {exc.strerror or exc}", path=str(path))


def sync_folder(folder: Path) -> None:
    """Makes a rename in ``folder`` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> Any:
    """Reads one document. Raises :class:`EvidenceError` where it is missing or damaged."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as exc:
        raise EvidenceError(f"{path} is missing", path=str(path)) from exc
    except (OSError, ValueError) as exc:
        raise EvidenceError(f"{path} can't be read: {exc}", path=str(path)) from exc


class Lines:
    """An append-only JSON-lines file: a header line with schema and identity, then one line a record, each on disk when written."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path
        self._header = header
        self._stream: IO[bytes] | None = None

    def append(self, record: Any) -> None:
        try:
            if self._stream is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                fresh = not self._path.exists()
                self._stream = self._path.open("ab")
                if fresh:
                    self._write(self._header)
            self._write(record)
        except OSError as exc:
            raise disk_error(self._path, exc) from exc

    def _write(self, record: Any) -> None:
        if self._stream is not None:
            self._stream.write(canonical_json(to_document(record)).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
