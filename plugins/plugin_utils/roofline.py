# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the memory's bandwidth allows for a decode rate, and how much of it was reached. Derived from the packet alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json

Document = Mapping[str, Any]
GB = 1e9
#: GB/s as NVIDIA's data sheets have them, by the name that nvidia-smi gives. What is declared in the inventory comes first.
PUBLISHED = {
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": 1792.0,
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": 1792.0,
    "NVIDIA RTX 6000 Ada Generation": 960.0,
    "NVIDIA RTX A6000": 768.0,
    "NVIDIA GeForce RTX 5090": 1792.0,
    "NVIDIA GeForce RTX 4090": 1008.0,
    "NVIDIA GeForce RTX 3090": 936.0,
    "NVIDIA L40S": 864.0,
    "NVIDIA A100 80GB PCIe": 1935.0,
    "NVIDIA A100-SXM4-80GB": 2039.0,
    "NVIDIA H100 PCIe": 2000.0,
    "NVIDIA H100 80GB HBM3": 3350.0,
    "NVIDIA H200": 4800.0,
}


@dataclass(frozen=True)
class Roof:
    """``tok_s``: the most tokens a second that one request can decode at; ``rests_on``: what it was computed from."""

    tok_s: float
    gigabytes_a_token: float
    gb_s: float
    rests_on: str


def roof_of(packet: Path, recipe: str) -> Roof | None:
    """None where bandwidth, size of the weights or the active share isn't known.

    Formula: roles × memory bandwidth / (weight bytes × active / total parameters). Each token needs every active weight
    once (Williams, Waterman, Patterson: Roofline, 2009); the KV cache's own reads are left out, so it is an upper bound.
    """
    folder = packet / "lanes" / recipe
    declared = _optional(folder / "recipe.json").get("recipe") or {}
    checkpoint = (_optional(folder / "snapshot.json").get("snapshot") or {}).get("checkpoint") or {}
    roles = list((_optional(folder / "plan.json").get("plan") or {}).get("roles") or {})
    weight, share = checkpoint.get("weight_bytes"), _active_share(declared.get("model") or {})
    bandwidth = _bandwidth(packet, roles)
    if not weight or share is None or bandwidth is None:
        return None
    gb_s, source = bandwidth
    active = weight * share / GB
    moe = f", {share:.1%} of them active" if share < 1 else ""
    return Roof(gb_s / active, active, gb_s, f"{gb_s:,.0f} GB/s ({source}), {weight / GB:,.2f} GB of weights{moe}")


def _active_share(model: Document) -> float | None:
    total, active = model.get("total_params_b"), model.get("active_params_b")
    return active / total if total and active and active <= total else None


def _bandwidth(packet: Path, roles: Sequence[str]) -> tuple[float, str] | None:
    """(GB/s of all roles together, where it is from)."""
    host = _optional(packet / "reservation.json").get("host") or {}
    facts = _optional(packet / "host.json").get("facts") or {}
    names = {gpu.get("uuid"): gpu.get("name") for gpu in facts.get("gpus") or []}
    found = [_of_role((host.get("gpu_roles") or {}).get(role) or {}, names) for role in roles]
    values = [value for value in found if value is not None]
    if not values or len(values) < len(found):
        return None
    sources = sorted({source for _gb_s, source in values})
    count = f"{len(values)} roles, " if len(values) > 1 else ""
    return sum(gb_s for gb_s, _source in values), count + " and ".join(sources)


def _of_role(role: Document, names: Mapping[str | None, str | None]) -> tuple[float, str] | None:
    if role.get("memory_gb_s"):
        return float(role["memory_gb_s"]), "declared in the inventory"
    published = PUBLISHED.get(names.get(role.get("uuid")) or "") if role.get("uuid") else None
    return (published, "as its maker publishes it") if published else None


def _optional(file: Path) -> Document:
    return read_json(file) if file.is_file() else {}
