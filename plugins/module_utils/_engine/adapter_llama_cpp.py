# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""llama.cpp's server: /props, /metrics, /apply-template and /tokenize."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from .._api.client import Client
from .._words.profile import Reasoning
from .adapter_openai import OpenAi
from .facts import LiveFacts
from .pages import get_document, metric, post_document


class LlamaCpp(OpenAi):
    """llama.cpp's server; without fields of its own it samples at temperature 0.8 with top_k 40 (its /props, recorded)."""

    cached_metric, waiting_metric = "llamacpp:prompt_tokens_cached_total", "llamacpp:requests_deferred"
    sampling: ClassVar[Mapping[str, Any]] = {"repeat_penalty": 1.0}

    def switches(self, reasoning: Reasoning) -> dict[str, Any]:
        """It knows no effort in the request; templates that do (gpt-oss) take it as a variable."""
        effort = {"reasoning_effort": reasoning.effort} if reasoning.effort else {}
        kwargs = {**effort, **reasoning.kwargs}
        return {"chat_template_kwargs": kwargs} if kwargs else {}

    def live_facts(self, client: Client, startup_log: str) -> LiveFacts:
        props = get_document(client, "/props")
        settings = props.get("default_generation_settings") or {}
        version = re.search(r"^xllamacpp (\S+)$", startup_log, re.M)
        drafts = metric(client, "llamacpp:spec_decode_num_drafts_total")
        kinds = (settings.get("params") or {}).get("speculative.types")
        speculative = "off" if kinds == "none" and not drafts else (None if kinds is None else str(kinds))
        return LiveFacts(
            version[1] if version else None,
            settings.get("n_ctx"),
            props.get("total_slots"),
            props.get("model_path"),
            speculative,
        )

    def count_tokens(self, client: Client, messages: list[dict[str, Any]]) -> int | None:
        rendered = post_document(client, "/apply-template", {"messages": messages})
        if not isinstance(rendered.get("prompt"), str):
            return None
        tokens = post_document(
            client, "/tokenize", {"content": rendered["prompt"], "add_special": True, "parse_special": True}
        )
        return len(tokens["tokens"]) if isinstance(tokens.get("tokens"), list) else None
