# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The final state in few fields, for people and for the packet. Pure."""

from __future__ import annotations

from typing import Any

from .._words.host import HostDeclaration


def final_state(
    host: HostDeclaration, before: dict[str, Any] | None, now: dict[str, Any], unresolved: list[str], owner: str | None
) -> dict[str, Any]:
    """``{mode, exclusive_owner, gpu_ownership, services, admissions, unresolved, blocked_workloads}``.

    ``blocked_workloads``: services that ran before and don't run, or aren't healthy, now. ``owner``: the campaign that still holds the host.
    """
    ran = {name for name, state in (before or now)["services"].items() if state.get("running")}
    return {
        "mode": "exclusive" if owner else "split",
        "exclusive_owner": owner,
        "gpu_ownership": {role: now["gpu_owners"].get(role, []) for role in host.gpu_roles},
        "services": {name: _short(state) for name, state in now["services"].items()},
        "admissions": now["admissions"],
        "unresolved": unresolved,
        "blocked_workloads": sorted(name for name in ran if not _serves(now["services"].get(name, {}))),
    }


def _short(state: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": state["kind"],
        "state": state.get("status"),
        "exit_code": None if state.get("running") else state.get("exit_code"),
        "health": state.get("health"),
    }


def _serves(state: dict[str, Any]) -> bool:
    return bool(state.get("running")) and state.get("health") in (200, True, "healthy", None)
