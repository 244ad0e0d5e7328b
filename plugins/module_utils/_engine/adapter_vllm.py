# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM: /version, /v1/models, /metrics, /tokenize and its startup log (the server info page exists in developer mode only)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .._api.client import Client
from . import vllm_log
from .adapter_openai import OpenAi
from .facts import LiveFacts
from .pages import get_document, metric_names, objects_of, post_document


class Vllm(OpenAi):
    """vLLM 0.22 to 0.25."""

    cached_metric, waiting_metric = "vllm:prefix_cache_hits_total", "vllm:num_requests_waiting"
    #: ``--generation-config auto`` takes these from the repository, and a penalty works at temperature 0, too.
    sampling: ClassVar[Mapping[str, Any]] = {"repetition_penalty": 1.0}

    def live_facts(self, client: Client, startup_log: str) -> LiveFacts:
        model = next(iter(objects_of(get_document(client, "/v1/models"), "data")), {})
        names = metric_names(client)
        drafting = any(name.startswith("vllm:spec_decode") for name in names)
        speculative = vllm_log.speculative_of(startup_log)
        if drafting and speculative in (None, "off"):
            speculative = "on: the engine counts drafted tokens"
        version = get_document(client, "/version").get("version")
        return LiveFacts(
            version=str(version) if version else None,
            context_tokens=model.get("max_model_len"),
            max_requests=vllm_log.max_requests_of(startup_log),
            model_path=model.get("root"),
            speculative=speculative if names else None,
            settings=vllm_log.settings_of(startup_log),
            ranks=vllm_log.ranks_of(startup_log),
            kv_tokens=vllm_log.kv_tokens_of(startup_log),
        )

    def count_tokens(self, client: Client, messages: list[dict[str, Any]]) -> int | None:
        count = post_document(client, "/tokenize", {"messages": messages}).get("count")
        return count if isinstance(count, int) else None
