# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running engine says of itself, in one vocabulary for all engines. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rank:
    """One tensor-parallel rank as the engine's log shows it: sizes in GiB, times in seconds; None where it doesn't say."""

    rank: int
    weights_gib: float | None = None
    kv_gib: float | None = None
    graph_gib: float | None = None
    graph_s: float | None = None


@dataclass(frozen=True)
class LiveFacts:
    """None where the engine doesn't say. ``settings``: effective values by :mod:`.expects`' names, absent where not told."""

    version: str | None
    context_tokens: int | None
    max_requests: int | None
    model_path: str | None
    speculative: str | None
    settings: dict[str, str] = field(default_factory=dict)
    ranks: tuple[Rank, ...] = ()
    kv_tokens: int | None = None
