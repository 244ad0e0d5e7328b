# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs from engine to engine once it runs: where it tells its version and settings, how it counts tokens and cache hits."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol

from .._api.client import Client
from .._words.errors import RefusedError


@dataclass(frozen=True)
class LiveFacts:
    """What the running engine says of itself. None where it doesn't say."""

    version: str | None
    context_tokens: int | None
    max_requests: int | None
    model_path: str | None
    speculative: str | None


class Adapter(Protocol):
    """One engine's ways."""

    def live_facts(self, client: Client, startup_log: str) -> LiveFacts: ...

    def count_tokens(self, client: Client, messages: list[dict[str, Any]]) -> int | None: ...

    def cached_prompt_tokens(self, client: Client) -> int | None: ...


class LlamaCpp:
    """llama.cpp's server: /props, /metrics, /apply-template and /tokenize."""

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

    def cached_prompt_tokens(self, client: Client) -> int | None:
        value = metric(client, "llamacpp:prompt_tokens_cached_total")
        return None if value is None else int(value)


ADAPTERS: dict[str, Adapter] = {"llama_cpp": LlamaCpp()}


def adapter_for(engine: str) -> Adapter:
    """The engine's adapter. One that is not built is refused by name."""
    if engine not in ADAPTERS:
        raise RefusedError(f"engine {engine!r} has no adapter in this version ({', '.join(ADAPTERS)} has)")
    return ADAPTERS[engine]


def metric(client: Client, name: str) -> float | None:
    """One sample of a Prometheus text page, summed over its labels; None where it isn't there."""
    exchange = client.get("/metrics")
    if exchange.status != 200:
        return None
    found = re.findall(
        rf"^{re.escape(name)}(?:\{{[^}}]*\}})? ([0-9.eE+-]+)$", exchange.body.decode("utf-8", "replace"), re.M
    )
    return sum(map(float, found)) if found else None


def get_document(client: Client, path: str) -> dict[str, Any]:
    """A JSON object, or an empty one where the engine has no such page."""
    exchange = client.get(path)
    return _object(exchange.body) if exchange.status == 200 else {}


def post_document(client: Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The same for POST."""
    exchange = client.post(path, json.dumps(body).encode(), timeout_s=60.0)
    return _object(exchange.body) if exchange.status == 200 else {}


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
