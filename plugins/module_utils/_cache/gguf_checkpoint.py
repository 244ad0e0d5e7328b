# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the headers of a GGUF, or of all parts of a split one, say of its weights: types, layers, bytes. Pure.

Keys: ggml's docs/gguf.md, ``general.*`` and ``<architecture>.*``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .architecture import Architecture
from .gguf import GgufHeader
from .gguf_types import FILE_TYPES
from .quantization import Quantization

#: Tensors that stay in full precision whatever the file's type is: norms and biases.
FULL = ("F32", "F16", "BF16")


def gguf_quantization(headers: Mapping[str, GgufHeader]) -> Quantization:
    """The file's own type, where tensors of it are there, and the type of most of its bytes. A name says nothing."""
    total: dict[str, int] = {}
    for header in headers.values():
        for name, size in header.type_bytes.items():
            total[name] = total.get(name, 0) + size
    ranked = sorted(total, key=lambda name: (-total[name], name))
    main = next((name for name in ranked if name not in FULL), next(iter(ranked), None))
    number = _metadata(headers).get("general.file_type")
    named = FILE_TYPES.get(number) if isinstance(number, int) else None
    # A file's type is its main tensors' with a size behind it: Q4_K_M of Q4_K.
    known = [named] if named and any(named.startswith(name) for name in total) else []
    return Quantization(None, tuple(dict.fromkeys([*known, *([main] if main else [])])), None, tuple(sorted(headers)))


def gguf_architecture(headers: Mapping[str, GgufHeader]) -> Architecture | None:
    """None where layers are of several kinds (windows, recurrent state): a GGUF does not say which layer is which."""
    metadata = _metadata(headers)
    name = metadata.get("general.architecture")

    def number(key: str) -> int:
        value = metadata.get(f"{name}.{key}")
        return value if isinstance(value, int) else 0

    if any(number(key) for key in ("attention.sliding_window", "ssm.state_size", "full_attention_interval")):
        return None
    heads = metadata.get(f"{name}.attention.head_count_kv") or number("attention.head_count")
    per_layer = heads if isinstance(heads, Sequence) else [heads] * number("block_count")
    dim = number("attention.key_length") or number("embedding_length") // max(1, number("attention.head_count"))
    latent = number("attention.kv_lora_rank")
    if latent and number("block_count"):
        return Architecture(number("block_count"), latent=latent + number("rope.dimension_count"))
    if not per_layer or not dim or len({*per_layer}) != 1 or not per_layer[0]:
        return None
    return Architecture(len(per_layer), kv_heads=int(per_layer[0]), head_dim=dim)


def gguf_bytes(headers: Mapping[str, GgufHeader]) -> int | None:
    """Of all tensors; None where a type isn't known."""
    sizes = [item for header in headers.values() for item in header.type_bytes.items()]
    return None if any(name.startswith("type ") for name, _size in sizes) else sum(size for _name, size in sizes)


def _metadata(headers: Mapping[str, GgufHeader]) -> dict[str, Any]:
    """A split file has it in its first part."""
    return headers[min(headers)].metadata if headers else {}
