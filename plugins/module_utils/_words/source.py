# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source of a recipe's decisions, and what it is worth: the shape of ``[[source]]`` in ``*.sources.toml``."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .strict import FORBID_EXTRA

REGISTRY_SCHEMA = "tandem.source-registry/v1"
#: What others have seen or searched for, rather than who made it or measured it.
LOW_EVIDENCE = ("catalog", "community", "engine_issue")
#: After so many days engines and checkpoints have moved on.
STALE_DAYS = 90


@dataclass(frozen=True)
class Source:
    """``says`` and ``decides``: one sentence each. ``hardware``: how near its hardware is to the recipe's hosts; ``none``: it says nothing of any.

    ``settled_by``: which of a campaign's own results takes its place in the report.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    id: str
    address: str
    observed: datetime.date
    evidence: Literal[
        "publisher", "engine_docs", "platform_docs", "package", "catalog", "engine_issue", "community", "local"
    ]
    engine: Literal["vllm", "sglang", "llama_cpp", "any"]
    hardware: Literal["same", "similar", "other", "none"]
    says: str
    decides: str
    settled_by: Literal[
        "weights", "image", "transport", "settings", "memory", "coherence", "functional", "quality", "capacity"
    ]
    published: datetime.date | None = None

    def __post_init__(self) -> None:
        if not self.address.startswith("https://"):
            raise ValueError(f"address {self.address!r} is no https address")
        if self.published and self.published > self.observed:
            raise ValueError(f"published {self.published} is after observed {self.observed}")

    def age_class(self, today: datetime.date) -> str:
        """current, or stale where it was looked at too long ago."""
        return "stale" if (today - self.observed).days > STALE_DAYS else "current"

    def doubts(self, today: datetime.date) -> list[str]:
        """Why a decision that rests on it needs local proof; empty for a fresh publisher's word or our own measurement."""
        found = [f"observed {(today - self.observed).days} days ago"] if self.age_class(today) == "stale" else []
        found += [f"its evidence is {self.evidence.replace('_', ' ')}"] if self.evidence in LOW_EVIDENCE else []
        return found + (["its hardware is other"] if self.hardware == "other" else [])
