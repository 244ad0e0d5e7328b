# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a checkpoint's configuration says of the memory that serving takes: layers by kind, KV heads, state. Pure.

Kinds: full attention keeps keys and values of every token; sliding-window attention of the last ones; latent attention (MLA) one vector a token for all heads;
recurrent layers (Mamba2, gated delta) one state a sequence, whatever its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Architecture:
    """Counts of layers; ``window`` in tokens; ``latent``: elements a token and layer, which no rank shares with another; ``state_elements`` a sequence."""

    full_layers: int
    window_layers: int = 0
    window: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    latent: int = 0
    state_elements: int = 0

    def kv_elements(self, tokens: int) -> int:
        """Of one sequence, over all layers and heads."""
        per_token = self.latent or 2 * self.kv_heads * self.head_dim
        return per_token * (self.full_layers * tokens + self.window_layers * min(tokens, self.window))


def architecture_of(config: Any) -> Architecture | None:
    """From config.json; None where it isn't told in a known form, which is no reason to refuse anything."""
    if not isinstance(config, dict):
        return None
    text = {**config, **_mapping(config.get("text_config"))}
    layers = _int(text.get("num_hidden_layers"))
    if not layers:
        return None
    full, window, recurrent = _kinds(text, layers)
    latent = _int(text.get("kv_lora_rank"))
    heads = _int(text.get("num_key_value_heads")) or _int(text.get("num_attention_heads"))
    dim = _int(text.get("head_dim")) or (_int(text.get("hidden_size")) // max(1, _int(text.get("num_attention_heads"))))
    if not latent and not (heads and dim):
        return None
    return Architecture(
        full, window, _int(text.get("sliding_window")) or _int(text.get("sliding_window_size")), heads, dim,
        latent + _int(text.get("qk_rope_head_dim")) if latent else 0, recurrent * _state(text),
    )  # fmt: skip


def _kinds(text: Mapping[str, Any], layers: int) -> tuple[int, int, int]:
    """(full, window, recurrent) layers, from the list of types, a pattern of letters, an interval, or the absence of all that."""
    types = text.get("layer_types")
    if isinstance(types, list) and types:
        names = [str(item) for item in types]
        window = sum("sliding" in name for name in names)
        recurrent = sum("linear" in name or "mamba" in name or "recurrent" in name for name in names)
        return sum("full" in name or name == "attention" for name in names), window, recurrent
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return pattern.count("*"), 0, pattern.count("M")
    interval = _int(text.get("full_attention_interval"))
    if interval:
        return layers // interval, 0, layers - layers // interval
    if text.get("sliding_window") and text.get("use_sliding_window", True):
        every = _int(text.get("sliding_window_pattern"))
        full = layers // every if every else 0
        return full, layers - full, 0
    return layers, 0, 0


def _state(text: Mapping[str, Any]) -> int:
    """Elements of one recurrent layer's state: Mamba2 heads x head x state, gated delta value heads x key x value."""
    mamba = _int(text.get("mamba_num_heads")) * _int(text.get("mamba_head_dim")) * _int(text.get("ssm_state_size"))
    delta = (
        _int(text.get("linear_num_value_heads"))
        * _int(text.get("linear_key_head_dim"))
        * _int(text.get("linear_value_head_dim"))
    )
    return mamba or delta


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
