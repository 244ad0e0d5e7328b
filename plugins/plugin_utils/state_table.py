# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's state in few words: for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils._words.text import plain
from .outcome_table import text_table

SERVICE_HEADER = ("service", "kind", "state", "health")


def owners_text(final: Mapping[str, Any]) -> str:
    """``compute_a: nobody; compute_b: omni``."""
    return "; ".join(f"{role}: {', '.join(names) or 'nobody'}" for role, names in final["gpu_ownership"].items())


def service_rows(final: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """One row a service."""
    return [
        (name, str(state["kind"]), _state_text(state), "-" if state["health"] is None else str(state["health"]))
        for name, state in final["services"].items()
    ]


def state_lines(host: str, final: Mapping[str, Any], reservation: Mapping[str, Any] | None) -> list[str]:
    """What a look at a host prints."""
    holder = "nobody holds it"
    if reservation:
        alive = (
            f"last sign of its controller {reservation['silence_s']} s ago"
            if reservation["keeper_alive"]
            else "its keeper is gone: restore.yml"
        )
        holder = f"held by campaign {reservation['campaign']} since {reservation['since']}, {alive}"
    lines = [f"{host}: mode {final['mode']}, {holder}", f"{host}: {owners_text(final)}"]
    lines += [
        f"{host}: {router} admits {', '.join(worker['url'] for worker in workers) or 'nobody'}"
        for router, workers in final["admissions"].items()
        if isinstance(workers, list)
    ]
    lines += [f"{host}: unresolved: {text}" for text in final["unresolved"]]
    return ["", *text_table(service_rows(final), SERVICE_HEADER), "", *(plain(line, 400) for line in lines)]


def _state_text(state: Mapping[str, Any]) -> str:
    code = state["exit_code"]
    return str(state["state"]) + ("" if code is None else f" ({code})")
