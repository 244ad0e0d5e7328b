# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planned beside live, one row each: equal, different, or not told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._words.plan import LaunchPlan
from .._words.text import plain
from .._words.verdict import VerdictName
from .expects import spelled
from .facts import LiveFacts

#: Effective backends that an excluded one must not be part of.
BACKENDS = ("moe_backend", "gemm_backend", "attention_backend")


@dataclass(frozen=True)
class Comparison:
    """One setting. ``inconclusive``: the engine doesn't tell it, so nothing is proven."""

    name: str
    planned: Any
    live: Any
    verdict: VerdictName

    def __str__(self) -> str:
        if self.verdict == "inconclusive" and self.live is not None:
            return plain(f"{self.name}: it takes {self.planned}, and the log says: {self.live}")
        if self.verdict == "inconclusive":
            return plain(f"{self.name}: planned {self.planned!r}, the engine does not tell")
        return plain(f"{self.name}: planned {self.planned!r}, live {self.live!r}")


def compared(name: str, planned: Any, live: Any, *, holds: bool | None = None) -> Comparison:
    """``holds`` says whether they agree where that isn't plain equality; a live value of None is not told."""
    if live is None:
        return Comparison(name, planned, None, "inconclusive")
    agree = planned == live if holds is None else holds
    return Comparison(name, planned, live, "passed" if agree else "failed")


def compare_facts(plan: LaunchPlan, facts: LiveFacts) -> list[Comparison]:
    """What the engine says of itself beside the plan: context, admission, speculation, model, effective settings, ranks, exclusions."""
    context, folder = facts.context_tokens, facts.model_path
    rows = [
        # An engine may round its context up to its own block; less than planned is a deviation.
        compared(
            "context_tokens", plan.context_tokens, context, holds=context is not None and context >= plan.context_tokens
        ),
        compared("max_requests", plan.max_requests, facts.max_requests),
        compared("speculative", plan.speculative, facts.speculative),
        compared("model path", f"inside {plan.snapshot}", folder, holds=str(folder).startswith(plan.snapshot)),
    ]
    for name, value in plan.expects.items():
        live = facts.settings.get(name)
        rows.append(compared(name, value, None if live is None else spelled(live)))
    return rows + _exclusions(plan.excludes, facts.settings) + _ranks(plan.expects, facts)


def _exclusions(excludes: Iterable[str], settings: Mapping[str, str]) -> list[Comparison]:
    """Each excluded backend against each kind of backend: only one that is told can be ruled out."""
    return [
        compared(
            f"{kind} is not {excluded}",
            f"not {excluded}",
            None if (live := settings.get(kind)) is None else spelled(live),
            holds=excluded.lower() not in spelled(live),
        )
        for excluded in excludes
        for kind in BACKENDS
    ]


def _ranks(expects: Mapping[str, str], facts: LiveFacts) -> list[Comparison]:
    """Every declared rank has to show itself with its weights in the engine's own log."""
    count = expects.get("tensor_parallel", "")
    if not count.isdigit():
        return []
    wanted = list(range(int(count)))
    seen = sorted(rank.rank for rank in facts.ranks if rank.weights_gib is not None)
    return [compared("ranks with weights", wanted, seen or None)]
