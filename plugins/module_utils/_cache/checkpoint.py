# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verified snapshot says of its weights, for the fit estimate and the quantization label. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._words.documents import to_document
from .architecture import architecture_of
from .gguf import GgufHeader
from .gguf_checkpoint import gguf_architecture, gguf_bytes, gguf_quantization
from .quantization import declared_quantization
from .safetensors import Shard


def checkpoint_of(
    documents: Mapping[str, Any], shards: Mapping[str, Shard], headers: Mapping[str, GgufHeader]
) -> dict[str, Any] | None:
    """``headers``: of the one GGUF that is served, whose configuration lies in the file itself. None without weights."""
    if headers:
        return {
            "weight_bytes": gguf_bytes(headers),
            "quantization": to_document(gguf_quantization(headers)),
            "kv": None,
            "architecture": to_document(gguf_architecture(headers)),
        }
    if not shards:
        return None
    declared = declared_quantization(documents)
    return {
        "weight_bytes": sum(shard.data_bytes for name, shard in shards.items() if "/" not in name),
        "quantization": to_document(declared),
        "kv": declared.kv,
        "architecture": to_document(architecture_of(documents.get("config.json"))),
    }
