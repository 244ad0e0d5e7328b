# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of the house. Each carries its facts beside its sentence; only a module's ``main()`` turns one into ``fail_json``."""

from __future__ import annotations

from typing import Any

from .secret_forms import without_secrets


class CampaignError(Exception):
    """A fault with its facts. Its sentence holds no secret, whatever it repeats.

    ``kind`` is one of ``input`` (the user's text), ``refused`` (a rule said no before anything was touched),
    ``infrastructure`` (host, transport, disk: never a verdict on a model), ``engine`` (the engine did not come up)
    or ``evidence`` (a packet that doesn't hold together).
    """

    kind = "infrastructure"

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(without_secrets(message))
        self.facts = facts

    def as_result(self) -> dict[str, Any]:
        """What ``fail_json`` is given: ``msg`` and ``failure: {kind, ...facts}``."""
        return {"msg": str(self), "failure": {"kind": self.kind, **self.facts}}


class InputError(CampaignError):
    """The inventory or a recipe says something that can't be."""

    kind = "input"


class RefusedError(CampaignError):
    """A rule said no before a service or a GPU was touched."""

    kind = "refused"


class EngineError(CampaignError):
    """The engine did not start, died or is not what was planned."""

    kind = "engine"


class EvidenceError(CampaignError):
    """Evidence is missing, damaged or inconsistent."""

    kind = "evidence"
