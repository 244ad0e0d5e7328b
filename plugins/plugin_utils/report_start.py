# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a lane's engine was started and what it said of itself, for the report. Derived from the packet alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .markdown import Table

#: What is printed of each rank: heading, field, unit.
RANK_FIELDS = (
    ("weights", "weights_gib", "GiB"),
    ("KV cache", "kv_gib", "GiB"),
    ("graphs", "graph_gib", "GiB"),
    ("graph warm-up", "graph_s", "s"),
)


def start_tables(folder: Path) -> Iterator[Table]:
    """(header, rows) of the start, of what differs or is not told, and of the ranks; nothing where no engine was loaded."""
    if not (folder / "live.json").is_file():
        return
    document = read_json(folder / "live.json")
    live, rows = document["live"], document["comparisons"]
    engine = read_json(folder / "engine.json")
    passed = sum(row["verdict"] == "passed" for row in rows)
    yield (
        ("started as", "ready after", "engine says", "devices inside", "as planned"),
        [
            (
                _start(live),
                f"{engine['ready_s']:.1f} s" if engine.get("ready_s") is not None else "-",
                document["identity"]["engine_version"] or "no version",
                ", ".join((live.get("devices_inside") or {}).get("uuids") or []) or "none",
                f"{passed} of {len(rows)} settings",
            )
        ],
    )
    other: list[tuple[str, ...]] = [
        (row["name"], str(row["planned"]), str(row["live"]), row["verdict"])
        for row in rows
        if row["verdict"] != "passed"
    ]
    if other:
        yield ("setting", "planned", "live", "verdict"), other
    ranks = (live.get("engine") or {}).get("ranks") or []
    if ranks:
        yield ("rank", *(heading for heading, _field, _unit in RANK_FIELDS)), [_rank(rank) for rank in ranks]
    yield from fit_table(folder, ranks)


def fit_table(folder: Path, ranks: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """The estimate made before the load beside what the ranks told: weights are comparable, the cache is what one request needs and what there is."""
    fit = read_json(folder / "fit.json")["fit"] if (folder / "fit.json").is_file() else None
    if not fit:
        return
    weights, cache = largest_rank(ranks, "weights_gib"), largest_rank(ranks, "kv_gib")
    error = f", the estimate is {fit['weights'] / weights - 1:+.1%}" if weights and fit["weights"] else ""
    yield (
        ("fit", "weights a rank", "KV cache a rank", "says"),
        [
            ("estimate", _gib(fit["weights"]), _gib(fit["cache"]), f"{fit['verdict']}: {fit['reason']}"),
            (
                "measured, largest rank",
                _gib(weights) + error,
                _gib(cache),
                "loaded" if ranks else "the engine told of no ranks",
            ),
        ],
    )


def largest_rank(ranks: Sequence[Mapping[str, Any]], field: str) -> float | None:
    """The largest value of ``field`` over the ranks that told it."""
    return max((float(rank[field]) for rank in ranks if rank.get(field) is not None), default=None)


def _gib(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} GiB"


def image_table(folder: Path) -> Iterator[Table]:
    """The image's three values, and what was changed in a derived one."""
    document = read_json(folder / "image.json") if (folder / "image.json").is_file() else {}
    report = document.get("report")
    if not report:
        return
    yield (
        ("repository digest", "platform digest", "image id", "platform", "GPU request"),
        [
            (
                report.get("index_digest") or "derived on this host",
                report.get("platform_digest") or "the engine does not tell",
                report.get("id") or "-",
                report.get("platform") or "-",
                (report.get("gpu_probe") or {}).get("reason") or "-",
            )
        ],
    )
    files = (report.get("manifest") or {}).get("files") or []
    if files:
        yield (
            ("patched file", "in effect", "reason", "sha256 after"),
            [
                (entry["path"], entry["gate"], entry["reason"], entry["after"][:16])
                for entry in files
                if entry["before"]
            ],
        )


def _start(live: Mapping[str, Any]) -> str:
    process = live.get("process") or {}
    return f"container {process['id'][:12]}" if process.get("runtime") == "docker" else "process of the host"


def _rank(rank: Mapping[str, Any]) -> tuple[str, ...]:
    values = ("-" if rank[field] is None else f"{rank[field]:g} {unit}" for _heading, field, unit in RANK_FIELDS)
    return (str(rank["rank"]), *values)
