# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GGUF structure: magic, version, and the tensor table against the file's size. Source: ggml's docs/gguf.md, versions 2 and 3."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"GGUF"
SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
MAX_STRING = 64 * 2**20
MAX_COUNT = 10_000_000
#: ggml type -> (elements a block, bytes a block)
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 24: (1, 1), 25: (1, 2), 26: (1, 4),
    27: (1, 8), 28: (1, 8), 30: (1, 2), 39: (32, 17),
}  # fmt: skip


class GgufError(ValueError):
    """The file is no GGUF, or is cut."""


@dataclass(frozen=True)
class GgufHeader:
    """What the header says: tensors, the bytes their data needs, and where the data begins."""

    version: int
    tensors: int
    needed_size: int
    unknown_types: tuple[int, ...]


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
        alignment = 32
        for _pair in range(pair_count):
            key, kind = _string(stream), _int(stream, "<I")
            value = _skip(stream, kind)
            if key == b"general.alignment" and value:
                alignment = value
        end, unknown = 0, set()
        for _tensor in range(tensor_count):
            _string(stream)
            elements = 1
            for _dimension in range(_int(stream, "<I")):
                elements *= _int(stream, "<Q")
            kind, offset = _int(stream, "<I"), _int(stream, "<Q")
            if kind in BLOCKS:
                block, size = BLOCKS[kind]
                end = max(end, offset + elements // block * size)
            else:
                unknown.add(kind)
                end = max(end, offset)
        start = -(-stream.tell() // alignment) * alignment
    return GgufHeader(version, tensor_count, start + end, tuple(sorted(unknown)))


def _int(stream: BinaryIO, form: str) -> int:
    data = stream.read(struct.calcsize(form))
    if len(data) != struct.calcsize(form):
        raise GgufError("the file ends inside its header")
    return int(struct.unpack(form, data)[0])


def _string(stream: BinaryIO) -> bytes:
    length = _int(stream, "<Q")
    if length > MAX_STRING:
        raise GgufError(f"a string of {length} bytes is not plausible")
    data = stream.read(length)
    if len(data) != length:
        raise GgufError("the file ends inside its header")
    return data


def _skip(stream: BinaryIO, kind: int) -> int | None:
    """Reads over one value; returns it where it is a 4-byte number (alignment is one)."""
    if kind == STRING:
        _string(stream)
    elif kind == ARRAY:
        inner, count = _int(stream, "<I"), _int(stream, "<Q")
        if count > MAX_COUNT:
            raise GgufError(f"an array of {count} values is not plausible")
        if inner in SCALAR_BYTES:
            stream.seek(SCALAR_BYTES[inner] * count, 1)
        else:
            for _value in range(count):
                _skip(stream, inner)
    elif kind == 4:
        return _int(stream, "<I")
    elif kind in SCALAR_BYTES:
        stream.seek(SCALAR_BYTES[kind], 1)
    else:
        raise GgufError(f"value type {kind} is not known")
    return None
