# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which effective settings a recipe's arguments ask for, in one vocabulary for all engines. Pure.

Flags: ``vllm serve --help=all`` of 0.22.1 and 0.25.1, sglang's ``server_args.py`` of 0.5.16.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._words.recipe import Recipe

#: Flag -> the setting that it names. What has a row here is read back from the running engine.
SETTINGS: dict[str, dict[str, str]] = {
    "vllm": {
        "--tensor-parallel-size": "tensor_parallel",
        "-tp": "tensor_parallel",
        "--kv-cache-dtype": "kv_cache_dtype",
        "--moe-backend": "moe_backend",
        "--attention-backend": "attention_backend",
    },
    "sglang": {
        "--tensor-parallel-size": "tensor_parallel",
        "--tp-size": "tensor_parallel",
        "--tp": "tensor_parallel",
        "--ep-size": "expert_parallel",
        "--ep": "expert_parallel",
        "--expert-parallel-size": "expert_parallel",
        "--kv-cache-dtype": "kv_cache_dtype",
        "--moe-runner-backend": "moe_backend",
        "--attention-backend": "attention_backend",
        "--fp4-gemm-backend": "gemm_backend",
        "--fp8-gemm-backend": "gemm_backend",
    },
    "llama_cpp": {},
}
#: Flags without a value: vLLM spreads experts over the tensor-parallel ranks.
SWITCHES: dict[str, dict[str, tuple[str, str]]] = {
    "vllm": {"--enable-expert-parallel": ("expert_parallel", "on"), "-ep": ("expert_parallel", "on")}
}
#: What an engine does where no flag says otherwise, as far as a lane depends on it.
DEFAULTS = {
    "vllm": {"tensor_parallel": "1", "expert_parallel": "off"},
    "sglang": {"tensor_parallel": "1", "expert_parallel": "1"},
    "llama_cpp": {},
}
#: An engine's word for "choose yourself": nothing is asked for.
UNDECIDED = ("auto",)
#: Each spelling of a setting's value -> the one that is compared.
SPELLINGS = {"bf16": "bfloat16", "fp8": "fp8_e4m3", "torch.bfloat16": "bfloat16", "torch.float8_e4m3fn": "fp8_e4m3"}


def expected_settings(recipe: Recipe) -> dict[str, str]:
    """Setting -> value that has to be in effect, in :func:`same` spelling."""
    kind = recipe.engine.kind
    found = dict(DEFAULTS[kind])
    for flag, value in _pairs(recipe.args):
        setting = SETTINGS[kind].get(flag)
        if setting and value is not None and value not in UNDECIDED:
            found[setting] = spelled(value)
        elif flag in SWITCHES.get(kind, {}):
            name, state = SWITCHES[kind][flag]
            found[name] = state
    return found


def spelled(value: object) -> str:
    """One spelling a value: ``bf16`` and ``bfloat16`` are the same."""
    text = str(value).lower()
    return SPELLINGS.get(text, text)


def _pairs(groups: Iterable[tuple[str, ...]]) -> Iterable[tuple[str, str | None]]:
    for group in groups:
        flag, separator, joined = group[0].partition("=")
        yield flag, joined if separator else (group[1] if len(group) > 1 else None)
