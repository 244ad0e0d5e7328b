# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot's report as plain JSON, the same from a folder of the host and from inside a volume."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._words.documents import to_document
from .problem import Problem
from .receipt import Receipt
from .verify import verify_snapshot
from .wanted import Wanted

TELL_S = 1.0
#: Called with a line for people, bytes done and bytes in all.
Tell = Callable[[str, int, int], None]


def snapshot_report(
    hub: Path, wanted: Mapping[str, Any], depth: str, tell: Tell, receipt: Receipt | None = None
) -> dict[str, Any]:
    """``wanted``: an element of snapshot_verify's ``snapshots``. Adds ``texts`` (the problems as sentences) and ``seconds`` to the library's report."""
    start = time.monotonic()
    told = [0.0]

    def progress(done: int, total: int) -> None:
        elapsed = time.monotonic() - start
        if elapsed - told[0] >= TELL_S or done == total:
            told[0] = elapsed
            rate = done / elapsed / 1e9 if elapsed else 0
            tell(f"{wanted['repo']}: {done / 1e9:.2f} of {total / 1e9:.2f} GB, {rate:.2f} GB/s", done, total)

    report = verify_snapshot(hub, Wanted.of(wanted), "hash" if depth == "hash" else "structure", progress, receipt)
    document: dict[str, Any] = to_document(report)
    document["texts"] = [str(problem) for problem in report.problems]
    return {**document, "seconds": round(time.monotonic() - start, 3)}


def unread_report(wanted: Mapping[str, Any], reason: str, *, fault: bool = True) -> dict[str, Any]:
    """Where nothing could be looked at, which proves nothing. Without ``fault`` it wasn't tried, and stands in no lane's way."""
    problems = [to_document(Problem("the cache", "to be read", reason))] if fault else []
    nothing: dict[str, Any] = {"depth": None, "proof": None, "verified_at": None, "checkpoint": None, "receipt": None}
    return {
        **nothing, "repo": wanted["repo"], "revision": wanted["revision"], "files": [], "bytes": 0, "reused": 0, "problems": problems,
        "caveats": [reason], "notes": [], "texts": [reason] if fault else [], "seconds": 0.0,
    }  # fmt: skip
