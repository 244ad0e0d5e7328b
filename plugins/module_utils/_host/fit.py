# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a recipe fits the memory of its roles, before anything is loaded. Advice: two of its terms are estimates. Pure.

Per rank, in GiB: ``W / TP x r + KV / min(TP, KV heads) + state / TP + o <= u x V``. W: the tensors of the headers, exact. r: what tensor parallelism keeps
twice (embeddings, norms, padding); measured once, 86.4 of 79.5 GiB. KV: one sequence of the recipe's context. o: CUDA context, graphs, activations.
u x V: the share that the engine takes of the smallest role's memory. Only weights beyond all roles' memory together refuse a lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .._cache.architecture import Architecture
from .._words.documents import from_document
from .._words.recipe import Recipe

GIB = 2**30
REPLICATED = 1.087
OVERHEAD_GIB = 2.0
#: The share an engine takes where no argument says so, and whether what lies outside the weights and the cache counts to it.
SHARES: dict[str, tuple[str, float | None, bool]] = {
    "vllm": ("--gpu-memory-utilization", 0.92, True),
    "sglang": ("--mem-fraction-static", None, False),
    "llama_cpp": ("", 1.0, True),
}
KV_BYTES = {"fp8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "nvfp4": 0.5625, "mxfp8": 1.03125, "float32": 4.0}
SIXTEEN_BITS = 2.0


@dataclass(frozen=True)
class Fit:
    """All in GiB a rank; None where it can't be known. ``margin`` is what is left of the engine's share."""

    verdict: Literal["fits", "does not fit", "unknown"]
    reason: str
    weights: float | None = None
    cache: float | None = None
    state: float | None = None
    share: float | None = None
    margin: float | None = None
    refused: bool = False


def estimate_fit(
    recipe: Recipe, checkpoint: Mapping[str, Any] | None, memory_mib: Sequence[int | None], tensor_parallel: int
) -> Fit:
    """``checkpoint``: what the snapshot's report says of the weights; ``memory_mib``: of each role's device."""
    weight_bytes = (checkpoint or {}).get("weight_bytes")
    if not weight_bytes:
        return Fit("unknown", "the snapshot's weights are not known")
    sizes = [size / 1024 for size in memory_mib if size]
    if not sizes or len(sizes) != len(memory_mib):
        return Fit("unknown", "the memory of the roles' devices is not known")
    total = weight_bytes / GIB
    if total > sum(sizes):
        text = f"the weights alone have {total:.1f} GiB, the {len(sizes)} roles have {sum(sizes):.1f} GiB together"
        return Fit("does not fit", text, weights=total / tensor_parallel, refused=True)
    if tensor_parallel < len(sizes):
        text = f"{total:.1f} GiB of weights over {len(sizes)} roles without as many tensor parallel ranks, which isn't estimated"
        return Fit("unknown", text)
    flag, share, all_inside = SHARES[recipe.engine.kind]
    share = _number(recipe, flag, share)
    weights = total / tensor_parallel * (REPLICATED if tensor_parallel > 1 else 1.0)
    document = (checkpoint or {}).get("architecture")
    if document is None or share is None:
        missing = "the checkpoint's layers are in no known form" if document is None else f"args say no {flag}"
        return Fit("unknown", f"{weights:.1f} GiB of weights a rank; {missing}", weights=weights)
    architecture = from_document(Architecture, document)
    cache = _cache_gib(recipe, architecture, (checkpoint or {}).get("kv"), tensor_parallel)
    state = architecture.state_elements * 4 / tensor_parallel / GIB
    budget = share * min(sizes)
    margin = budget - weights - cache - state - (OVERHEAD_GIB if all_inside else 0.0)
    verdict: Literal["fits", "does not fit"] = "fits" if margin >= 0 else "does not fit"
    reason = (
        f"{weights:.1f} GiB of weights, {cache:.2f} of KV cache for {recipe.limits.context_tokens} tokens and {state:.2f} of state a rank, "
        f"of {budget:.1f} GiB: {'' if margin >= 0 else 'short by '}{abs(margin):.1f} GiB{' left' if margin >= 0 else ''}"
    )
    return Fit(verdict, reason, weights, cache, state, budget, margin)


def _cache_gib(recipe: Recipe, architecture: Architecture, declared: Any, tensor_parallel: int) -> float:
    """A latent vector lies whole on every rank; KV heads are shared as far as they go."""
    kind = _text(recipe, "--kv-cache-dtype") or "auto"
    if kind == "auto":
        kind = "fp8" if str(declared).upper() == "FP8" else "bfloat16"
    ranks = 1 if architecture.latent else min(tensor_parallel, max(1, architecture.kv_heads))
    elements = architecture.kv_elements(recipe.limits.context_tokens) * recipe.limits.max_requests
    return elements * KV_BYTES.get(kind, SIXTEEN_BITS) / ranks / GIB


def _text(recipe: Recipe, flag: str) -> str | None:
    for group in recipe.args:
        name, joined, value = group[0].partition("=")
        if flag and name == flag:
            return value if joined else (group[1] if len(group) > 1 else None)
    return None


def _number(recipe: Recipe, flag: str, default: float | None) -> float | None:
    text = _text(recipe, flag)
    try:
        return float(text) if text is not None else default
    except ValueError:
        return default
