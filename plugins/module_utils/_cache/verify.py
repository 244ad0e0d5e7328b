# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot proof: the pinned revision, complete and byte-exact, offline. Collects every problem before it judges."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .._words.documents import sha256_of, to_document
from .checkpoint import checkpoint_of
from .expected import differences, expected_digests, named_digest, uncompared
from .hashing import Progress, hash_files
from .layout import SnapshotFile, read_snapshot
from .problem import Problem
from .receipt import Receipt, etags_of, is_of, is_unchanged, make_receipt, vouched
from .structure import check_structure
from .wanted import Wanted
from .writers import find_writers

Depth = Literal["structure", "hash"]


@dataclass(frozen=True)
class SnapshotReport:
    """What was found. ``proof`` is a hash over every file's name, size and content hash; None where problems are.

    ``files``: (name, bytes, what its content was compared with or, where there was nothing, its own sha256). ``reused``: how many files an
    earlier proof vouched for. ``notes`` are worth knowing and take nothing from the proof. ``checkpoint``: what headers and configurations
    say, ``{weight_bytes, quantization, kv, architecture}``. ``receipt`` is for the next time, and no evidence.
    """

    repo: str
    revision: str
    depth: Depth
    files: tuple[tuple[str, int, str], ...]
    bytes: int
    problems: tuple[Problem, ...]
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    proof: str | None
    verified_at: float
    checkpoint: Mapping[str, Any] | None = None
    reused: int = 0
    receipt: Receipt | None = None


def verify_snapshot(
    hub: Path, wanted: Wanted, depth: Depth, progress: Progress | None = None, receipt: Receipt | None = None
) -> SnapshotReport:
    """Verifies one snapshot without any network. ``depth`` hash also reads every file; one that ``receipt`` still vouches for is not read again."""
    receipt = receipt if is_of(receipt, hub, wanted) else None
    if (
        receipt is not None
        and depth == "hash"
        and is_unchanged(receipt, hub, wanted)
        and not find_writers(hub, wanted.repo, etags_of(receipt))[0]
    ):
        return _as_before(receipt)
    return _Proof(hub, wanted, depth, progress or (lambda _done, _total: None), receipt).make()


def _as_before(receipt: Receipt) -> SnapshotReport:
    kept = dict(receipt["report"])
    files = tuple((str(name), int(size), str(digest)) for name, size, digest in kept.pop("files"))
    return SnapshotReport(
        **{
            **kept,
            "files": files,
            "problems": (),
            "caveats": tuple(kept["caveats"]),
            "notes": tuple(kept["notes"]),
            "reused": len(files),
        }
    )


class _Proof:
    """One pass over a snapshot."""

    def __init__(self, hub: Path, wanted: Wanted, depth: Depth, progress: Progress, receipt: Receipt | None) -> None:
        self.hub, self.wanted, self.depth, self.progress, self.receipt = hub, wanted, depth, progress, receipt
        self.began_ns = time.time_ns()

    def make(self) -> SnapshotReport:
        files, problems = read_snapshot(self.hub, self.wanted.repo, self.wanted.revision)
        if not files:
            return self._report([], problems, (), ())
        structure = check_structure(self.hub, self.wanted, files, {problem.file for problem in problems})
        etags = {file.expected or "" for file in files} | {listed.digest for listed in structure.tree.values()}
        writers, caveats = find_writers(self.hub, self.wanted.repo, etags)
        problems += [*structure.problems, *writers]
        expected = {file.name: expected_digests(file, structure.tree, self.wanted) for file in files}
        digests: dict[str, dict[str, str]] = {}
        reused = 0
        if self.depth == "hash":
            digests, reused = self._digests(files, expected)
            writers_now = find_writers(self.hub, self.wanted.repo, etags)[0]
            problems += differences(expected, digests) + self._moved(files)
            problems += [problem for problem in writers_now if problem not in writers]
        listing = [
            (file.name, file.size, named_digest(expected[file.name], digests.get(file.name, {}))) for file in files
        ]
        caveats += [*structure.caveats, *uncompared(expected, self.wanted)]
        checkpoint = checkpoint_of(structure.documents, structure.shards, structure.headers)
        report = replace(
            self._report(listing, problems, caveats, structure.notes), reused=reused, checkpoint=checkpoint
        )
        return (
            report
            if report.proof is None or not digests
            else replace(report, receipt=self._receipt(report, files, digests))
        )

    def _receipt(
        self, report: SnapshotReport, files: list[SnapshotFile], digests: Mapping[str, Mapping[str, str]]
    ) -> Receipt:
        document = to_document(replace(report, receipt=None))
        kept = {key: value for key, value in document.items() if key not in ("receipt", "reused", "problems")}
        return make_receipt(self.hub, self.wanted, kept, files, digests, self.began_ns)

    def _digests(
        self, files: list[SnapshotFile], expected: Mapping[str, Mapping[str, str]]
    ) -> tuple[dict[str, dict[str, str]], int]:
        """Of every file; without anything to compare with its sha256 is recorded."""
        known = {file.name: vouched(self.receipt, file) for file in files}
        algorithms = {file.name: frozenset(expected[file.name]) or frozenset(("sha256",)) for file in files}
        to_read = {
            file.name: (file.path, file.size, algorithms[file.name])
            for file in files
            if not algorithms[file.name] <= set(known[file.name])
        }
        try:
            read = hash_files(to_read, self.progress)
        except OSError as exc:
            return {name: {"sha256": f"unreadable ({exc.strerror})"} for name in to_read} | known, 0
        return {**known, **read}, len(files) - len(to_read)

    def _moved(self, files: list[SnapshotFile]) -> list[Problem]:
        """Files that were written or replaced while they were read, and names that came or went."""
        again = {file.name: file.stamp for file in read_snapshot(self.hub, self.wanted.repo, self.wanted.revision)[0]}
        before = {file.name: file.stamp for file in files}
        return [
            Problem(name, "to stay as it is while it is read", "that somebody writes to it now")
            for name in sorted(set(before) | set(again))
            if before.get(name) != again.get(name)
        ]

    def _report(
        self,
        listing: list[tuple[str, int, str]],
        problems: list[Problem],
        caveats: Iterable[str],
        notes: Iterable[str],
    ) -> SnapshotReport:
        repo, revision = self.wanted.repo, self.wanted.revision
        proven = {"repo": repo, "revision": revision, "depth": self.depth, "files": listing}
        return SnapshotReport(
            repo, revision, self.depth, tuple(listing), sum(size for _name, size, _digest in listing), tuple(sorted(problems)),
            tuple(caveats), tuple(notes), None if problems else sha256_of(proven), time.time(),
        )  # fmt: skip
