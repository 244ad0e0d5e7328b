# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a checkpoint declares of its quantization, in standard names. Pure.

Forms: config.json ``quantization_config`` (ModelOpt, compressed-tensors, fp8, mxfp4, AWQ, GPTQ, bitsandbytes), ModelOpt's older hf_quant_config.json,
DeepSeek's ``expert_dtype``. What a repository calls itself doesn't count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Formats as a label may name them. The digits are part of the name: NVFP8 is another word than NVFP4, and one that no artifact declares.
FORMAT = re.compile(r"\b(?:NVFP\d+|MXFP\d+|FP\d+|INT\d+|BF16|FP16|IQ\d\w*|Q\d\w*)\b", re.IGNORECASE)
#: A mix of types that llama.cpp has no file type for (Q4_K_XL): the type of most bytes counts.
EXTRA_LARGE = re.compile(r"_X+L$")
METHODS = ("modelopt", "compressed-tensors", "awq", "gptq", "bitsandbytes")
PLAIN = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32"}
#: compressed-tensors: ``format`` of the config -> format of the weights.
PACKED = {
    "nvfp4-pack-quantized": "NVFP4",
    "mxfp4-pack-quantized": "MXFP4",
    "float-quantized": "FP8",
    "int-quantized": "INT8",
}


@dataclass(frozen=True)
class Quantization:
    """``method``: the tool, where one is named. ``formats``: of weights, and ``kv`` of keys and values. ``sources``: which files said so."""

    method: str | None
    formats: tuple[str, ...]
    kv: str | None
    sources: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.method, ", ".join(self.formats) or "no format"))) + (
            f", KV {self.kv}" if self.kv else ""
        )


def declared_quantization(documents: Mapping[str, Any]) -> Quantization:
    """From the parsed JSON files of a snapshot. Nothing declared is an empty one, and a plain dtype is a format too."""
    config = _mapping(documents.get("config.json"))
    text = {**_mapping(config.get("text_config")), **config}
    own = _mapping(config.get("quantization_config")) or _mapping(text.get("quantization_config"))
    older = _mapping(_mapping(documents.get("hf_quant_config.json")).get("quantization"))
    formats = dict.fromkeys([*_formats(own), *_formats(older), *_legacy(documents.get("hf_quant_config.json"))])
    if str(text.get("expert_dtype", "")).lower() == "fp4":
        formats = dict.fromkeys(["FP4", *formats])
    method = (
        str(own.get("quant_method") or ("modelopt" if older or documents.get("hf_quant_config.json") else "")).lower()
        or None
    )
    if not formats:
        plain = PLAIN.get(str(text.get("dtype") or text.get("torch_dtype") or "").removeprefix("torch."))
        formats = {plain: None} if plain else {}
    kv = (
        own.get("kv_cache_quant_algo")
        or older.get("kv_cache_quant_algo")
        or ("FP8" if own.get("kv_cache_scheme") else None)
    )
    sources = [
        name
        for name, present in (("config.json", own), ("hf_quant_config.json", documents.get("hf_quant_config.json")))
        if present
    ]
    return Quantization(method if method in METHODS else None, tuple(formats), str(kv) if kv else None, tuple(sources))


def label_problem(label: str | None, declared: Quantization) -> str | None:
    """Why a recipe's label does not follow from what the checkpoint declares; None where it does, or where nothing is declared."""
    if not label or not declared.formats:
        return None
    wanted = [found.upper() for found in FORMAT.findall(label)]
    known = {item.upper() for item in (*declared.formats, str(declared.kv))}
    missing = [name for name in wanted if name not in known and EXTRA_LARGE.sub("", name) not in known]
    method = next((name for name in METHODS if name in label.lower()), None)
    if missing or (method and declared.method and method != declared.method):
        return f"quantization {label!r}: the checkpoint declares {declared} ({', '.join(declared.sources) or 'config.json'})"
    return None


def _formats(document: Mapping[str, Any]) -> Iterator[str]:
    method, algorithm = str(document.get("quant_method") or "").lower(), document.get("quant_algo")
    if algorithm == "MIXED_PRECISION":
        layers = _mapping(document.get("quantized_layers")).values()
        yield from sorted({str(_mapping(layer).get("quant_algo")) for layer in layers} - {"None"})
    elif algorithm:
        yield str(algorithm)
    elif method in ("fp8", "mxfp4"):
        yield method.upper()
    elif method in ("awq", "gptq"):
        yield f"INT{document.get('bits') or document.get('w_bit') or 4}"
    elif method == "bitsandbytes":
        yield "INT4" if document.get("load_in_4bit") else "INT8"
    elif method == "compressed-tensors":
        yield from _compressed(document)


def _compressed(document: Mapping[str, Any]) -> Iterator[str]:
    found = PACKED.get(str(document.get("format")))
    if found:
        yield found
        return
    for group in _mapping(document.get("config_groups")).values():
        weights = _mapping(_mapping(group).get("weights"))
        bits, kind = weights.get("num_bits"), weights.get("type")
        if kind == "float" and bits == 4:
            yield "NVFP4" if weights.get("group_size") == 16 else "FP4"
        elif bits:
            yield f"{'FP' if kind == 'float' else 'INT'}{bits}"


def _legacy(document: Any) -> Iterator[str]:
    """ModelOpt's own dump: 4-bit floats (2, 1) with block scales (4, 3) are NVFP4."""
    rules = _mapping(_mapping(_mapping(document).get("modelopt_quant_config")).get("quant_cfg"))
    for name, rule in rules.items():
        bits, scale = _mapping(rule).get("num_bits"), _mapping(_mapping(rule).get("block_sizes")).get("scale_bits")
        if name.endswith("weight_quantizer") and bits is not None:
            if list(bits if isinstance(bits, list | tuple) else [bits]) == [2, 1]:
                yield "NVFP4" if list(scale or []) == [4, 3] else "FP4"
            elif list(bits if isinstance(bits, list | tuple) else [bits]) == [4, 3]:
                yield "FP8"


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
