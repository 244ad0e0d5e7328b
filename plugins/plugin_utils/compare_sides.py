# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a packet is compared: lanes with their pins, timed contexts with every request's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from ..module_utils._gates.capacity import succeeded
from ..module_utils._gates.delivery import delivery_of
from ..module_utils._gates.metrics import METRICS, Metric, NoMetricValue
from ..module_utils._packet.check import check_packet, problems_in_words
from ..module_utils._packet.folder import MANIFEST
from ..module_utils._words.documents import from_document
from ..module_utils._words.errors import EvidenceError
from ..module_utils._words.events import Reply
from .changes import pins_of
from .packet_lines import lines_of
from .packets import file_sha256
from .report_capacity import gaps_of

Document = Mapping[str, Any]
#: Of a host's class: what makes figures those of another machine. A driver is a change between two tries on the same one.
HARDWARE = ("gpus", "roles", "cpu")


@dataclass(frozen=True)
class Timed:
    """One capacity lane. ``samples``: metric -> its values, one a request that counts; ``gap``: why it has no figures to compare."""

    document: Document
    samples: Mapping[str, tuple[float, ...]]
    gap: str | None


@dataclass(frozen=True)
class ComparedLane:
    """``pins``: what it rested on. ``hardware``: what has to be the same. ``timed``: by (profile, context in tokens). ``profiles``: reasoning by name."""

    result: Document
    identity: Document
    pins: Document
    hardware: Document
    profiles: Mapping[str, Document]
    timed: Mapping[tuple[str, int], Timed]


@dataclass(frozen=True)
class Side:
    """A packet that was checked before anything of it is believed."""

    name: str
    folder: Path
    verdict: Document
    manifest_sha256: str
    signed_by: str | None
    lanes: Mapping[str, ComparedLane]


def side_of(folder: Path) -> Side:
    """Raises :class:`EvidenceError` where the packet does not hold together: what was tampered with is compared with nothing."""
    report = check_packet(folder)
    if report.problems:
        raise EvidenceError(f"{problems_in_words(folder, report)}; a packet that does not hold is not compared")
    verdict = read_json(folder / "verdict.json")
    sha256, gaps = file_sha256(folder / MANIFEST), gaps_of(verdict["lanes"])
    unseen = f"hidden in the copy {sha256[:8]}" if report.facts["published"] else None
    lanes = {lane["recipe"]: _lane(folder / "lanes" / lane["recipe"], lane, gaps, unseen) for lane in verdict["lanes"]}
    name = f"{verdict['campaign']}/{verdict['host']}"
    return Side(name, folder, verdict, sha256, report.facts["signed_by"], lanes)


def _lane(folder: Path, result: Document, gaps: Mapping[tuple[str, str], str], unseen: str | None) -> ComparedLane:
    """``unseen``: what stands for an address in a copy for others, where all addresses look alike."""

    def content(name: str, member: str = "") -> dict[str, Any]:
        file = folder / f"{name}.json"
        return dict(read_json(file).get(member or name) or {}) if file.is_file() else {}

    parts = {name: content(name) for name in ("recipe", "contract", "topology")}
    identity, endpoint = content("verdict", "identity"), content("endpoint")
    pins = pins_of(identity, **parts) if identity else {}
    hardware = {name: parts["topology"].get(name) for name in HARDWARE}
    if endpoint:
        hardware["endpoint"] = unseen or endpoint["url"]
    profiles = {profile["name"]: profile["reasoning"] for profile in content("protocols", "suite").get("profile", ())}
    return ComparedLane(result, identity, pins, hardware, profiles, dict(_timed(folder, result["recipe"], gaps)))


def _timed(folder: Path, recipe: str, gaps: Mapping[tuple[str, str], str]) -> Iterator[tuple[tuple[str, int], Timed]]:
    files = sorted(folder.glob("capacity-*.json"))
    rows = lines_of(folder / "rows.jsonl") if files else []
    speculative = bool(files) and read_json(folder / "protocols.json")["suite"]["speculative"]
    for file in files:
        document = read_json(file)
        profile, tokens = document["profile"], document["requested"]["context_tokens"]
        gap = gaps.get((recipe, profile)) or (None if document["verdict"] == "passed" else _why(document))
        yield (profile, tokens), Timed(document, samples_of(rows, document, speculative=speculative), gap)


def _why(document: Document) -> str:
    return f"{document['verdict']}: {document['reason']}"


def samples_of(rows: list[dict[str, Any]], document: Document, *, speculative: bool) -> dict[str, tuple[float, ...]]:
    """Metric -> values of the very requests that the document's summary rests on."""
    check = f"capacity-{document['requested']['context_tokens']}"
    replies = [
        from_document(Reply, row["reply"])
        for row in rows
        if (row.get("check"), row.get("profile"), row.get("warmup")) == (check, document["profile"], False)
    ]
    good = succeeded(replies)
    timed = delivery_of(good, speculative=speculative).timed
    start = document["generation_starts_at"]
    return {metric.tag: _values(metric, timed if metric.from_moments else good, start) for metric in METRICS}


def _values(metric: Metric, replies: Any, start: Any) -> tuple[float, ...]:
    values = []
    for reply in replies:
        try:
            values.append(metric.value(reply, start))
        except NoMetricValue:
            continue
    return tuple(values)
