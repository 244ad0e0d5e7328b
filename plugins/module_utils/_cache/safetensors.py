# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""safetensors structure: contiguous offsets, file size, index against headers. Source: the format's README (length, JSON, data)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from .problem import Problem

MAX_HEADER = 100_000_000
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32,
    "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "C64": 64, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
}  # fmt: skip


class SafetensorsError(ValueError):
    """The shard is cut or its header contradicts itself."""


@dataclass(frozen=True)
class Shard:
    """What a shard's header says. ``dtypes``: bytes by dtype."""

    tensors: frozenset[str]
    data_bytes: int
    dtypes: Mapping[str, int]


def read_shard(path: Path) -> Shard:
    """Checks one shard. Raises :class:`SafetensorsError` naming what is wrong."""
    size = path.stat().st_size
    length, header = _header(path, size)
    header.pop("__metadata__", None)
    dtypes: dict[str, int] = {}
    try:
        entries = sorted(
            (*entry["data_offsets"], name, entry["dtype"], entry["shape"]) for name, entry in header.items()
        )
        end = 0
        for begin, stop, name, dtype, shape in entries:
            if begin != end:
                raise SafetensorsError(f"tensor {name} begins at {begin}, {end} is where the one before it ends")
            bits = DTYPE_BITS.get(dtype)
            if bits is not None and (stop - begin) * 8 != prod(shape) * bits:
                raise SafetensorsError(f"tensor {name} has {stop - begin} bytes for {prod(shape)} elements of {dtype}")
            end = stop
            dtypes[dtype] = dtypes.get(dtype, 0) + stop - begin
    except (TypeError, KeyError) as exc:
        raise SafetensorsError("a header whose entries lack dtype, shape or data_offsets") from exc
    if size != 8 + length + end:
        raise SafetensorsError(f"a file of {size} bytes, its header says {8 + length + end}")
    return Shard(frozenset(header), end, dtypes)


def _header(path: Path, size: int) -> tuple[int, dict[str, Any]]:
    with path.open("rb") as stream:
        prefix = stream.read(8)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8 or not 2 <= length <= min(MAX_HEADER, size - 8):
            raise SafetensorsError(f"a header length of {length} in a file of {size} bytes")
        try:
            header = json.loads(stream.read(length))
        except (ValueError, RecursionError) as exc:
            raise SafetensorsError("a header that is no JSON") from exc
    if not isinstance(header, dict):
        raise SafetensorsError("a header that is no JSON object")
    return length, header


def compare_index(
    name: str, document: Any, shards: Mapping[str, Shard], present: set[str]
) -> tuple[list[Problem], list[str]]:
    """An index beside the shards of its folder: both know the same tensors in the same files. The second list are notes."""
    weight_map = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(weight_map, dict):
        return [Problem(name, "an index", "one without weight_map")], []
    folder = name.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    by_shard: dict[str, set[str]] = {}
    for tensor, shard in weight_map.items():
        by_shard.setdefault(prefix + str(shard), set()).add(tensor)
    problems = []
    for shard, wanted in sorted(by_shard.items()):
        if shard not in present:
            problems.append(Problem(shard, f"a shard, as {name} lists it", "no such file in the snapshot"))
        elif shard in shards:
            found = shards[shard].tensors
            problems += [
                Problem(shard, f"tensor {tensor}, as {name} says", "a header without it")
                for tensor in sorted(wanted - found)
            ]
            problems += [
                Problem(shard, f"only tensors that {name} maps to it", f"tensor {tensor}")
                for tensor in sorted(found - wanted)
            ]
    for shard in sorted(shards):
        if shard not in by_shard and shard.rpartition("/")[0] == folder and shard[len(prefix) :].startswith("model"):
            problems.append(Problem(shard, f"only shards that {name} lists", "one more"))
    total, found_bytes = (
        (document.get("metadata") or {}).get("total_size"),
        sum(shards[shard].data_bytes for shard in by_shard if shard in shards),
    )
    # Some repositories write the count of parameters here, so it is no problem.
    differs = not problems and isinstance(total, int) and total != found_bytes
    return problems, [f"{name}: total_size {total}, the headers say {found_bytes} bytes of tensors"] if differs else []
