# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recipe's decisions rested on, and what was measured here in its place. Derived from the packet alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._cache.quantization import Quantization
from ..module_utils._evidence.store import read_json
from ..module_utils._words.documents import from_document
from .markdown import Table
from .report_start import largest_rank

NOT_MEASURED = "not measured"


def research_table(folder: Path, lane: Mapping[str, Any]) -> Iterator[Table]:
    """(header, rows) of a lane's sources, each with this campaign's own result; nothing where the recipe names none."""
    document = _document(folder, "sources")
    rows: list[tuple[str, ...]] = [
        (
            source["id"],
            f"{source['evidence'].replace('_', ' ')}, {source['observed']}",
            source["decides"],
            "; ".join(source["doubts"]) or "none",
            f"{source['settled_by']}: {measured(folder, lane, source['settled_by'])}",
        )
        for source in document.get("sources") or []
    ]
    if rows:
        yield ("source", "evidence", "decided", "doubts", "measured here"), rows


def measured(folder: Path, lane: Mapping[str, Any], settled_by: str) -> str:
    """What this lane's own evidence says of it, in a few words; :data:`NOT_MEASURED` where it holds nothing of the kind."""
    if settled_by in ("functional", "quality", "capacity"):
        return _gate(folder, lane, settled_by) or NOT_MEASURED
    return _MEASURES[settled_by](folder, lane) or NOT_MEASURED


def _weights(folder: Path, _lane: Mapping[str, Any]) -> str | None:
    snapshot = _document(folder, "snapshot").get("snapshot") or {}
    if not snapshot.get("proof") or snapshot.get("reason"):
        return None
    declared = (snapshot.get("checkpoint") or {}).get("quantization")
    kind = f"; the checkpoint declares {from_document(Quantization, declared)}" if declared else ""
    return f"this revision, proven as {snapshot['proof'][:16]}{kind}"


def _image(folder: Path, _lane: Mapping[str, Any]) -> str | None:
    report = _document(folder, "image").get("report") or {}
    return f"image {report['id'][:23]}" if report.get("id") else None


def _transport(folder: Path, _lane: Mapping[str, Any]) -> str | None:
    document = _document(folder, "nccl")
    if document.get("verdict") in (None, "not_run"):
        return None
    speed = document.get("bus_gb_s")
    return f"{document['verdict']}: {document['reason']}{f', {speed:.2f} GB/s' if speed is not None else ''}"


def _settings(folder: Path, _lane: Mapping[str, Any]) -> str | None:
    rows = _document(folder, "live").get("comparisons") or []
    passed = sum(row["verdict"] == "passed" for row in rows)
    return f"{passed} of {len(rows)} read back as planned" if rows else None


def _memory(folder: Path, _lane: Mapping[str, Any]) -> str | None:
    ranks = ((_document(folder, "live").get("live") or {}).get("engine") or {}).get("ranks") or []
    found = [
        f"{value:g} GiB of {word}"
        for word, field in (("weights", "weights_gib"), ("KV cache", "kv_gib"))
        if (value := largest_rank(ranks, field)) is not None
    ]
    return f"{' and '.join(found)} on the largest of {len(ranks)} ranks" if found else None


def _coherence(_folder: Path, lane: Mapping[str, Any]) -> str | None:
    checks = [
        f"{check['verdict']} ({profile['name']})"
        for profile in lane["profiles"]
        for gate in profile["gates"]
        for check in gate["checks"]
        if check["name"] == "coherence"
    ]
    return ", ".join(checks) or None


_MEASURES = {
    "weights": _weights,
    "image": _image,
    "transport": _transport,
    "settings": _settings,
    "memory": _memory,
    "coherence": _coherence,
}


def _gate(folder: Path, lane: Mapping[str, Any], kind: str) -> str | None:
    """Every profile's verdict of one kind of gate; of capacity the decode rates, too."""
    gates = [
        f"{gate['verdict']} ({profile['name']}, {gate['protocol']})"
        for profile in lane["profiles"]
        for gate in profile["gates"]
        if gate["protocol"].startswith(f"{kind}/") and gate["verdict"] != "not_run"
    ]
    if kind == "capacity" and gates:
        rates = [read_json(file)["metrics"]["decode_tok_s"]["p50"] for file in sorted(folder.glob("capacity-*.json"))]
        gates += [f"decode {rate:.1f} tok/s" for rate in rates if rate is not None]
    return ", ".join(gates) or None


def _document(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"{name}.json"
    return read_json(file) if file.is_file() else {}
