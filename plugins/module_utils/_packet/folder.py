# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A packet as files: the only place that opens them for a check. Nothing outside the folder is followed, nothing endless is read."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from .._words.errors import EvidenceError

MANIFEST, SIGNATURE = "manifest.json", "manifest.json.sig"
#: Made from evidence or from a plan; can be made again, and is none. A copy for others has a manifest of its own.
DERIVED = ("report.md", "report.html", "brief.md", SIGNATURE)
DERIVED_FOLDERS = ("charts/", "exports/", "published/")
FILE_LIMIT = 256 * 2**20


class PacketFolder:
    """Files by their path in the packet. A document is parsed once; a key that stands twice in one, NaN and the like are refused."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._documents: dict[str, Any] = {}

    @cached_property
    def evidence(self) -> dict[str, os.stat_result]:
        """Path -> stat of every file that is evidence, links and other things included, in order."""
        found = {}
        for folder, names, files in os.walk(self.root):
            names.sort()
            for name in [*files, *(name for name in names if os.path.islink(os.path.join(folder, name)))]:
                path = os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")
                if is_evidence(path):
                    found[path] = os.lstat(os.path.join(folder, name))
        return dict(sorted(found.items()))

    def data(self, path: str) -> bytes:
        """The bytes of a regular file of bearable size. Raises :class:`EvidenceError`."""
        info = self.evidence.get(path)
        if info is None:
            raise EvidenceError(f"{path} is missing")
        if not stat.S_ISREG(info.st_mode):
            raise EvidenceError(f"{path} is no regular file")
        if info.st_size > FILE_LIMIT:
            raise EvidenceError(f"{path} has {info.st_size} bytes, {FILE_LIMIT} are read at most")
        return (self.root / path).read_bytes()

    def sha256(self, path: str) -> str:
        return hashlib.sha256(self.data(path)).hexdigest()

    def document(self, path: str) -> dict[str, Any]:
        """One JSON object."""
        if path not in self._documents:
            self._documents[path] = parsed(path, self.data(path))
        document: dict[str, Any] = self._documents[path]
        return document

    def optional(self, path: str) -> dict[str, Any] | None:
        """The document, or None where there is none."""
        return self.document(path) if path in self.evidence else None

    def lines(self, path: str) -> Iterator[dict[str, Any]]:
        """Each line of a JSON-lines file; empty ones are none."""
        for number, line in enumerate(self.data(path).split(b"\n"), start=1):
            if line.strip():
                yield parsed(f"{path} line {number}", line)

    def names(self, prefix: str, ending: str = "") -> list[str]:
        """Paths below ``prefix``."""
        return [path for path in self.evidence if path.startswith(prefix) and path.endswith(ending)]


def is_evidence(path: str) -> bool:
    """Whether the manifest has to list it."""
    return path != MANIFEST and path not in DERIVED and not path.startswith(DERIVED_FOLDERS)


def parsed(where: str, data: bytes) -> dict[str, Any]:
    """A JSON object that means the same to every reader."""
    try:
        document = json.loads(data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise EvidenceError(f"{where} is no JSON document: {exc}") from exc
    if not isinstance(document, dict):
        raise EvidenceError(f"{where} is no JSON object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key stands in it twice")
    return document


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
