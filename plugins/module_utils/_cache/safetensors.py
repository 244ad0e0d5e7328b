# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""safetensors structure: contiguous offsets and file size. Source: the format's README (length, JSON, data)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from operator import le
from pathlib import Path
from typing import Any

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
        end = 0
        for name, entry in _by_offset(header):
            begin, stop = entry["data_offsets"]
            dtype, shape = entry["dtype"], entry["shape"]
            if begin != end:
                raise SafetensorsError(f"tensor {name} begins at {begin}, {end} is where the one before it ends")
            bits = DTYPE_BITS.get(dtype)
            if bits is not None and (stop - begin) * 8 != prod(shape) * bits:
                raise SafetensorsError(f"tensor {name} has {stop - begin} bytes for {prod(shape)} elements of {dtype}")
            end = stop
            dtypes[dtype] = dtypes.get(dtype, 0) + stop - begin
    except (TypeError, KeyError, ValueError, IndexError) as exc:
        if isinstance(exc, SafetensorsError):
            raise
        raise SafetensorsError("a header whose entries lack dtype, shape or data_offsets") from exc
    if size != 8 + length + end:
        raise SafetensorsError(f"a file of {size} bytes, its header says {8 + length + end}")
    return Shard(frozenset(header), end, dtypes)


def _by_offset(header: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Writers put tensors in the order of their data, nearly always; sorting 150,000 of them is what is saved."""
    begins = [entry["data_offsets"][0] for entry in header.values()]
    if all(map(le, begins, begins[1:])):
        return header.items()
    return sorted(header.items(), key=lambda item: item[1]["data_offsets"])


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
