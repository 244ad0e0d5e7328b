# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A packet's results as one flat document for programs: verdicts, checks, figures. Its schema is docs/schemas/results-v1.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .report_capacity import capacity_documents, gaps_of

SCHEMA = "tandem.results/v1"
Document = Mapping[str, Any]
CHECK = ("name", "level", "verdict", "reason")
SUMMARY = (
    "unit",
    "n",
    "missing",
    "estimator",
    "p50",
    "p90",
    "p95",
    "p99",
    "minimum",
    "maximum",
    "p50_interval",
    "p95_interval",
)


def results_of(packet: Path) -> dict[str, Any]:
    """Nothing is computed here: every value stands in the packet."""
    verdict = read_json(packet / "verdict.json")
    identity = verdict["identity"]
    return {
        "schema": SCHEMA,
        "campaign": verdict["campaign"],
        "host": verdict["host"],
        "started_at": identity["started_at"],
        "finished_at": read_json(packet / "campaign.json")["finished_at"],
        "collection": identity["collection"],
        "simulated": verdict["simulated"],
        "outcome": verdict["outcome"],
        "reason": verdict["reason"],
        "restore": verdict["restore"],
        "promotion": verdict["promotion"],
        "lanes": [_lane(packet, lane, gaps_of([lane])) for lane in verdict["lanes"]],
    }


def _lane(packet: Path, lane: Document, gaps: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    return {
        **{name: lane[name] for name in ("recipe", "lane_key", "outcome", "reason", "caveats", "control")},
        "gates": [
            {"profile": profile["name"], **_gate(gate)} for profile in lane["profiles"] for gate in profile["gates"]
        ],
        "capacity": list(_capacity(packet, lane, gaps)),
    }


def _gate(gate: Document) -> dict[str, Any]:
    checks = [{name: check[name] for name in CHECK} for check in gate["checks"]]
    return {**{name: gate[name] for name in ("protocol", "verdict", "reason", "required")}, "checks": checks}


def _capacity(packet: Path, lane: Document, gaps: Mapping[tuple[str, str], str]) -> Iterator[dict[str, Any]]:
    """Of each context, its figures; ``withheld`` says why they may not be used."""
    for _recipe, document in capacity_documents(packet, [lane]):
        energy = document["energy"]
        yield {
            **{
                name: document[name]
                for name in ("profile", "protocol", "verdict", "reason", "completed", "failed", "generation_starts_at")
            },
            **{name: document["requested"][name] for name in ("context_tokens", "requests", "warmup", "max_tokens")},
            "withheld": gaps.get((lane["recipe"], document["profile"])),
            "aggregate_output_tok_s": document["aggregate_output_tok_s"],
            "wall_s": document["wall_s"],
            "joules_per_output_token": energy["joules_per_output_token"] if energy["valid"] else None,
            "metrics": {tag: {name: summary[name] for name in SUMMARY} for tag, summary in document["metrics"].items()},
        }
