# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""safetensors structure: contiguous offsets, file size, index against headers. Source: the format's README (length, JSON, data)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_HEADER = 100_000_000
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32,
    "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "F4": 4,
}  # fmt: skip


class SafetensorsError(ValueError):
    """The shard is cut or its header contradicts itself."""


@dataclass(frozen=True)
class Shard:
    """What a shard's header says."""

    tensors: frozenset[str]
    data_bytes: int


def read_shard(path: Path) -> Shard:
    """Checks one shard. Raises :class:`SafetensorsError` naming what is wrong."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        prefix = stream.read(8)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8 or not 2 <= length <= min(MAX_HEADER, size - 8):
            raise SafetensorsError(f"a header length of {length} in a file of {size} bytes")
        try:
            header: dict[str, Any] = json.loads(stream.read(length))
        except ValueError as exc:
            raise SafetensorsError("a header that is no JSON") from exc
    header.pop("__metadata__", None)
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        if begin != end:
            raise SafetensorsError(f"tensor {name} begins at {begin}, {end} is where the one before it ends")
        elements = 1
        for dimension in entry["shape"]:
            elements *= dimension
        bits = DTYPE_BITS.get(entry["dtype"])
        if bits is not None and (stop - begin) * 8 != elements * bits:
            raise SafetensorsError(
                f"tensor {name} has {stop - begin} bytes for {elements} elements of {entry['dtype']}"
            )
        end = stop
    if size != 8 + length + end:
        raise SafetensorsError(f"a file of {size} bytes, its header says {8 + length + end}")
    return Shard(frozenset(header), end)


def read_index(path: Path) -> dict[str, str]:
    """``weight_map`` of an index file: tensor name -> shard's file name."""
    try:
        weight_map = json.loads(path.read_bytes())["weight_map"]
    except (ValueError, KeyError, TypeError) as exc:
        raise SafetensorsError("an index without weight_map") from exc
    return {str(name): str(shard) for name, shard in weight_map.items()}
