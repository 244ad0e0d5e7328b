# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GGUF structure: magic, version, and the tensor table against the file's size. Source: ggml's docs/gguf.md, versions 2 and 3."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .gguf_types import TENSOR_TYPES

MAGIC = b"GGUF"
#: Value type -> struct form.
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
MAX_STRING = 64 * 2**20
MAX_COUNT = 10_000_000
#: What is kept of the metadata: numbers, short texts, and lists with a number a layer. Tokens and merges are read over.
KEPT_TEXT, KEPT_LIST = 200, 1024


class GgufError(ValueError):
    """The file is no GGUF, or is cut."""


@dataclass(frozen=True)
class GgufHeader:
    """What the header says: bytes of tensors by type's name, the size that the file needs, and the metadata that is kept."""

    version: int
    tensors: int
    needed_size: int
    type_bytes: dict[str, int]
    metadata: dict[str, Any]


def read_header(path: Path) -> GgufHeader:
    """Parses the header. Raises :class:`GgufError` naming what is wrong."""
    with path.open("rb") as stream:
        if stream.read(4) != MAGIC:
            raise GgufError("magic 'GGUF' is missing")
        version = _int(stream, "<I")
        if version not in (2, 3):
            raise GgufError(f"version {version} is not known (2 and 3 are)")
        tensor_count, pair_count = _int(stream, "<Q"), _int(stream, "<Q")
        if max(tensor_count, pair_count) > MAX_COUNT:
            raise GgufError(f"{tensor_count} tensors and {pair_count} keys are not plausible")
        pairs = ((_string(stream), _value(stream, _int(stream, "<I"))) for _pair in range(pair_count))
        metadata = {key[:KEPT_TEXT].decode("utf-8", "replace"): value for key, value in pairs if value is not None}
        type_bytes, end = _tensors(stream, tensor_count)
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise GgufError(f"general.alignment {alignment!r} is not plausible")
        start = -(-stream.tell() // alignment) * alignment
    return GgufHeader(version, tensor_count, start + end, type_bytes, metadata)


def _tensors(stream: BinaryIO, count: int) -> tuple[dict[str, int], int]:
    """(bytes by type, end of the last tensor behind the header). A type that isn't known has no bytes."""
    end, type_bytes = 0, dict[str, int]()
    for _tensor in range(count):
        _string(stream)
        elements = 1
        for _dimension in range(_int(stream, "<I")):
            elements *= _int(stream, "<Q")
        kind, offset = _int(stream, "<I"), _int(stream, "<Q")
        known = TENSOR_TYPES.get(kind)
        size = elements // known.block * known.size if known else 0
        name = known.name if known else f"type {kind}"
        type_bytes[name] = type_bytes.get(name, 0) + size
        end = max(end, offset + size)
    return type_bytes, end


def _int(stream: BinaryIO, form: str) -> int:
    return int(_scalar(stream, form))


def _scalar(stream: BinaryIO, form: str) -> Any:
    data = stream.read(struct.calcsize(form))
    if len(data) != struct.calcsize(form):
        raise GgufError("the file ends inside its header")
    return struct.unpack(form, data)[0]


def _string(stream: BinaryIO) -> bytes:
    length = _int(stream, "<Q")
    if length > MAX_STRING:
        raise GgufError(f"a string of {length} bytes is not plausible")
    data = stream.read(length)
    if len(data) != length:
        raise GgufError("the file ends inside its header")
    return data


def _value(stream: BinaryIO, kind: int) -> Any:
    """A value that is kept, or None for one that was only read over."""
    if kind == STRING:
        text = _string(stream)
        return text.decode("utf-8", "replace") if len(text) <= KEPT_TEXT else None
    if kind == ARRAY:
        inner, count = _int(stream, "<I"), _int(stream, "<Q")
        if count > MAX_COUNT:
            raise GgufError(f"an array of {count} values is not plausible")
        if inner not in SCALARS:
            for _item in range(count):
                _value(stream, inner)
            return None
        if count > KEPT_LIST:
            stream.seek(struct.calcsize(SCALARS[inner]) * count, 1)
            return None
        return [_scalar(stream, SCALARS[inner]) for _item in range(count)]
    if kind not in SCALARS:
        raise GgufError(f"value type {kind} is not known")
    return _scalar(stream, SCALARS[kind])
