# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One recipe on one host, decided, and what was observed for the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..module_utils._host.fit import Fit
from ..module_utils._words.host import HostFacts
from ..module_utils._words.identity import Identity
from ..module_utils._words.patch import PatchSet
from ..module_utils._words.plan import Contract, ContractFinding, LaunchPlan
from .recipes import FoundRecipe, Protocol


@dataclass(frozen=True)
class Observed:
    """What the host told: facts, engine environments, snapshot reports by (repo, revision), image reports. Empty when only inspecting."""

    facts: HostFacts
    engine_environments: Mapping[str, Any] = field(default_factory=dict)
    snapshots: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    images: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Lane:
    """One recipe on one host, decided. ``refusal``: why it may not run here; ``outcome_if_refused`` says what that makes of it.

    ``topology``: the host's class as the lane's key has it, None where the lane was refused.
    """

    found: FoundRecipe
    protocols: Mapping[str, Protocol]
    missing_protocols: tuple[str, ...]
    contract: Contract
    plan: LaunchPlan | None
    identity: Identity
    key: str | None
    weights: Mapping[str, Any] | None
    image: Mapping[str, Any] | None = None
    patch_set: tuple[PatchSet, str] | None = None
    topology: Mapping[str, Any] | None = None
    fit: Fit | None = None
    findings: tuple[ContractFinding, ...] = ()
    refusal: str | None = None
    outcome_if_refused: str = "infrastructure"
