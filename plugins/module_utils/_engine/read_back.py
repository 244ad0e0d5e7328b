# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live configuration of a ready engine beside the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .._api.client import Client
from .._host.nccl_log import Judgement, judge
from .._words.documents import to_document
from .._words.plan import LaunchPlan
from .._words.signature import Signature
from .adapters import adapter_for, has_collective
from .comparison import Comparison, compare_facts, compared
from .diagnosis import Warnings, warnings_in
from .pages import get_document
from .runtime import Runtime
from .startup_log import read_head
from .token_proof import Proof, prove


@dataclass(frozen=True)
class Loaded:
    """An engine that is ready, and what it says of itself."""

    live: dict[str, Any]
    models: dict[str, Any]
    version: str | None
    comparisons: tuple[Comparison, ...]

    @property
    def deviations(self) -> list[str]:
        return [str(row) for row in self.comparisons if row.verdict == "failed"]

    @property
    def unproven(self) -> list[str]:
        return [str(row) for row in self.comparisons if row.verdict == "inconclusive"]


def read_back(
    plan: LaunchPlan, runtime: Runtime, identity: Mapping[str, Any], log: Path, signatures: tuple[Signature, ...] = ()
) -> Loaded:
    """What deviates fails the load; what the engine does not tell leaves the lane unproven. Both are listed, with what agrees."""
    client = Client(plan.base_url, key_file=plan.key_file)
    start = runtime.live(plan, identity)
    facts = adapter_for(plan.engine).live_facts(client, read_head(log))
    models = get_document(client, "/v1/models")
    names = [str(item.get("id")) for item in models.get("data") or [] if isinstance(item, dict)]
    warnings = warnings_in(read_head(log), signatures)
    proofs = prove(warnings.known, plan.snapshot, partial(runtime.run_python, plan, identity))
    live = {
        **start.document,
        "engine": to_document(facts),
        "served_names": names,
        "warnings": {**to_document(warnings), "proofs": to_document(proofs)},
    }
    rows = [*start.comparisons, *compare_facts(plan, facts), *compare_warnings(plan.caveats, warnings, proofs)]
    if has_collective(plan.engine, plan.roles):
        transport = judge(read_head(log), plan.environment, len(plan.roles))
        live["transport"] = to_document(transport)
        rows.append(compare_transport(transport))
    return Loaded(live, models, facts.version, tuple(rows))


def compare_warnings(caveats: tuple[str, ...], found: Warnings, proofs: Mapping[str, Proof]) -> list[Comparison]:
    """A warning that is known needs a caveat that the recipe declares or a proof made here; else nobody has looked at what it means here."""
    rows = []
    for item in found.known:
        proof = proofs.get(item.signature)
        covered = item.caveat in caveats or (proof is not None and proof.verdict == "passed")
        rows.append(
            Comparison(
                f"warning {item.signature}",
                f"a caveat {item.caveat} in the recipe" + (" or a proof by token ids" if item.proof else ""),
                f"{item.line} ({proof.reason})" if proof else item.line,
                "passed" if covered else "inconclusive",
            )
        )
    return rows


def compare_transport(found: Judgement) -> Comparison:
    """The engine's own collectives, which the probe before it can only foretell."""
    said = found.verdict if found.verdict == "honoured" else f"{found.verdict}: {'; '.join(found.reasons)}"
    return compared("NCCL transport", "honoured", None if found.verdict == "undetermined" else said)
