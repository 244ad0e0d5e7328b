# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang: /server_info (all its arguments, as they were resolved), /v1/models, /metrics if it is on, /tokenize, and its startup log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .._api.client import Client
from . import sglang_log
from .adapter_openai import OpenAi
from .expects import UNDECIDED
from .facts import LiveFacts
from .pages import get_document, objects_of, post_document

#: Our name -> its arguments, the first that is decided counts.
ARGUMENTS = {
    "tensor_parallel": ("tp_size",),
    "expert_parallel": ("ep_size",),
    "kv_cache_dtype": ("kv_cache_dtype",),
    "moe_backend": ("moe_runner_backend",),
    "attention_backend": ("attention_backend",),
    "gemm_backend": ("fp4_gemm_runner_backend", "fp8_gemm_runner_backend"),
}


class Sglang(OpenAi):
    """SGLang 0.5."""

    cached_metric, waiting_metric = "sglang:cached_tokens_total", "sglang:num_queue_reqs"
    #: ``--sampling-defaults model`` takes these from the repository.
    sampling: ClassVar[Mapping[str, Any]] = {"repetition_penalty": 1.0}

    def live_facts(self, client: Client, startup_log: str) -> LiveFacts:
        info = get_document(client, "/server_info")
        states = info.get("internal_states") or [{}]
        # The scheduler's own copy is the resolved one: auto has become a name there.
        resolved = {**info, **(states[0] if isinstance(states[0], dict) else {})}
        model = next(iter(objects_of(get_document(client, "/v1/models"), "data")), {})
        speculative = str(resolved["speculative_algorithm"] or "off") if "speculative_algorithm" in resolved else None
        settings = {name: value for name, names in ARGUMENTS.items() if (value := _decided(resolved, names))}
        if kind := sglang_log.kv_dtype_of(startup_log):
            settings["kv_cache_dtype"] = kind
        return LiveFacts(
            version=str(info["version"]) if info.get("version") else None,
            context_tokens=model.get("max_model_len") or info.get("context_length"),
            max_requests=resolved.get("effective_max_running_requests_per_dp") or resolved.get("max_running_requests"),
            model_path=info.get("model_path"),
            speculative=speculative,
            settings=settings,
            ranks=sglang_log.ranks_of(startup_log),
            kv_tokens=resolved.get("max_total_num_tokens"),
        )

    def count_tokens(self, client: Client, messages: list[dict[str, Any]]) -> int | None:
        count = post_document(client, "/tokenize", {"messages": messages}).get("count")
        return count if isinstance(count, int) else None


def _decided(arguments: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((str(value) for name in names if (value := arguments.get(name)) not in (None, *UNDECIDED)), None)
