# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two looks at a host. Pure: the same two documents give the same differences anywhere."""

from __future__ import annotations

from typing import Any

#: What may differ between two looks at an unchanged host, and why. Everything else is compared.
VOLATILE = {
    "pid": "a service that was started again is another process",
    "started_at": "and began at another time",
    "uptime": "and has run for another while",
    "restart_count": "Docker counts from zero again after a start",
    "address": "a container may be given another address",
    "worker_id": "a router names a readmitted worker anew",
    "memory_used_mib": "a model's memory is never the same to the MiB; ownership is compared by role",
    "observed_at": "time goes on",
}


def diff_states(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Every difference as ``{path, before, after}``, volatile fields left out. Empty means: as it was."""
    return _diff("", {key: before.get(key) for key in after}, after)


def _diff(path: str, before: Any, after: Any) -> list[dict[str, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in sorted(set(before) | set(after)):
            if key not in VOLATILE:
                found += _diff(f"{path}/{key}", before.get(key), after.get(key))
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            change
            for number, pair in enumerate(zip(before, after, strict=True))
            for change in _diff(f"{path}/{number}", *pair)
        ]
    return [] if before == after else [{"path": path, "before": before, "after": after}]
