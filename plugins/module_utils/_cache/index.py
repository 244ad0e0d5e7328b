# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The index of a sharded checkpoint beside the headers of its shards: both know the same tensors in the same files. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from .problem import Problem
from .safetensors import Shard


def compare_index(
    name: str, document: Any, shards: Mapping[str, Shard], present: Set[str]
) -> tuple[list[Problem], list[str]]:
    """``present``: all files that are there, whatever their state. The second list are notes."""
    weight_map = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(weight_map, dict) or not set(map(type, weight_map.values())) <= {str}:
        return [Problem(name, "an index", "one without weight_map")], []
    problems = _differences(name, weight_map, shards, present)
    listed = set(weight_map.values())
    problems += [
        Problem(shard, f"only shards that {name} lists", "one more")
        for shard in sorted(set(shards) - listed)
        if "/" not in shard and shard.startswith("model")
    ]
    metadata = document.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    found = sum(shards[shard].data_bytes for shard in listed if shard in shards)
    # Some repositories write the count of parameters here, so it is no problem.
    differs = not problems and isinstance(total, int) and total != found
    return problems, [f"{name}: total_size {total}, the headers say {found} bytes of tensors"] if differs else []


def _differences(
    name: str, weight_map: Mapping[str, str], shards: Mapping[str, Shard], present: Set[str]
) -> list[Problem]:
    if _agree(weight_map, shards):
        return []
    by_shard: dict[str, set[str]] = {}
    for tensor, shard in weight_map.items():
        by_shard.setdefault(shard, set()).add(tensor)
    problems = []
    for shard, wanted in sorted(by_shard.items()):
        if shard not in present:
            problems.append(Problem(shard, f"a shard, as {name} lists it", "no such file in the snapshot"))
        elif shard in shards:
            has = shards[shard].tensors
            lacks = [Problem(shard, f"tensor {item}, as {name} says", "a header without it") for item in wanted - has]
            more = [Problem(shard, f"only tensors that {name} maps to it", f"tensor {item}") for item in has - wanted]
            problems += sorted(lacks + more)
    return problems


def _agree(weight_map: Mapping[str, str], shards: Mapping[str, Shard]) -> bool:
    """Whether the index says just what the headers say, without a Python step for each of 150,000 tensors."""
    listed = set(weight_map.values())
    if not listed <= set(shards) or sum(len(shards[shard].tensors) for shard in listed) != len(weight_map):
        return False
    return all(set(map(weight_map.get, shards[shard].tensors)) == {shard} for shard in listed)
