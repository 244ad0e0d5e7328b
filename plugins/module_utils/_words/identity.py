# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity block: one shape, written by the runner into every artifact, never typed by a person."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .documents import sha256_of, to_document


@dataclass(frozen=True)
class Identity:
    """Who and what an artifact speaks of. A field that is not known is null and has its reason in ``unknown``."""

    campaign: str
    host: str
    started_at: str
    collection: dict[str, str | None]
    simulated: bool
    recipe: str | None = None
    recipe_sha256: str | None = None
    lane_key: str | None = None
    weights_sha256: str | None = None
    engine: dict[str, str | None] | None = None
    engine_version: str | None = None
    roles: dict[str, str] | None = None
    topology_sha256: str | None = None
    contract_sha256: str | None = None
    plan_sha256: str | None = None
    live_sha256: str | None = None
    protocols: dict[str, str] | None = None
    unknown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        silent = sorted(name for name in self._null_fields() if not self.unknown.get(name))
        if silent:
            raise ValueError(f"identity: {', '.join(silent)} is null without a reason")
        stale = sorted(name for name in self.unknown if name not in self._null_fields())
        if stale:
            raise ValueError(f"identity: {', '.join(stale)} is known and has a reason for being unknown")

    def _null_fields(self) -> list[str]:
        return [name for name, value in vars(self).items() if value is None]

    def learned(self, **facts: Any) -> Identity:
        """The same identity with facts that became known; their reasons go."""
        unknown = {name: reason for name, reason in self.unknown.items() if facts.get(name) is None}
        return replace(self, **facts, unknown=unknown)


#: Parts of a live configuration that name processes, containers and communicators or hold log lines, and differ from load to load.
NOT_THE_SAME_TWICE = ("process", "container", "transport", "warnings")


def live_sha256(live: dict[str, Any]) -> str:
    """sha256 over what the same plan has to come to each time."""
    return sha256_of({key: value for key, value in live.items() if key not in NOT_THE_SAME_TWICE})


def lane_key(parts: LaneKeyParts) -> str:
    """sha256 over all that makes two runs of a lane the same run; not the collection's version, not the time."""
    return sha256_of(to_document(parts))


@dataclass(frozen=True)
class LaneKeyParts:
    """Recipe, weights proof, engine build, contract, protocols, host class: each whole, as a document or hash."""

    recipe: dict[str, Any]
    weights: str
    engine: dict[str, Any]
    contract: dict[str, Any]
    protocols: dict[str, str]
    host_class: dict[str, Any]
