# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OpenAI common ground: what any engine has, and what the others refine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .._api.client import Client
from .._words.profile import Reasoning
from .facts import LiveFacts
from .pages import get_document, metric, objects_of


class OpenAi:
    """An engine of which nothing is known: /v1/models, chat completions, Responses. It tells no version, no cache counter, no tokenizer."""

    #: Samples of the metrics page: prompt tokens taken from the cache since the start, requests that wait now. None where the engine has none.
    cached_metric: ClassVar[str | None] = None
    waiting_metric: ClassVar[str | None] = None
    #: Fields of a chat request that neutralise what the engine might take from the model repository, beside the standard ones.
    sampling: ClassVar[Mapping[str, Any]] = {}

    def live_facts(self, client: Client, startup_log: str) -> LiveFacts:
        model = next(iter(objects_of(get_document(client, "/v1/models"), "data")), {})
        return LiveFacts(None, model.get("max_model_len"), None, model.get("root"), None)

    def switches(self, reasoning: Reasoning) -> dict[str, Any]:
        """What a chat request carries to set the reasoning, by its name in the body."""
        sent: dict[str, Any] = {"chat_template_kwargs": reasoning.kwargs} if reasoning.kwargs else {}
        return {**sent, "reasoning_effort": reasoning.effort} if reasoning.effort else sent

    def count_tokens(self, client: Client, messages: list[dict[str, Any]]) -> int | None:
        """Tokens of the rendered messages; None where the engine can't be asked."""
        return None

    def cached_prompt_tokens(self, client: Client) -> int | None:
        """Prompt tokens taken from the cache since the start; None where the engine doesn't count them."""
        return _whole(client, self.cached_metric)

    def waiting_requests(self, client: Client) -> int | None:
        """Requests that stand in line now; None where the engine doesn't say."""
        return _whole(client, self.waiting_metric)


def _whole(client: Client, name: str | None) -> int | None:
    value = metric(client, name) if name else None
    return None if value is None else int(value)
