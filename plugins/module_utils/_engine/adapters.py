# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs from engine to engine once it runs: where it tells its version and settings, how it counts tokens and cache hits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from .._api.client import Client
from .._words.errors import RefusedError
from .._words.profile import Reasoning
from .adapter_llama_cpp import LlamaCpp
from .adapter_openai import OpenAi
from .adapter_sglang import Sglang
from .adapter_vllm import Vllm
from .facts import LiveFacts
from .pages import get_document, objects_of


class Adapter(Protocol):
    """One engine's ways; :class:`OpenAi` says what each is for."""

    sampling: ClassVar[Mapping[str, Any]]

    def switches(self, reasoning: Reasoning) -> dict[str, Any]: ...

    def live_facts(self, client: Client, startup_log: str) -> LiveFacts: ...

    def count_tokens(self, client: Client, messages: list[dict[str, Any]]) -> int | None: ...

    def cached_prompt_tokens(self, client: Client) -> int | None: ...

    def waiting_requests(self, client: Client) -> int | None: ...


ADAPTERS: dict[str, Adapter] = {"llama_cpp": LlamaCpp(), "vllm": Vllm(), "sglang": Sglang()}

#: Engines whose ranks talk to each other by NCCL in PyTorch.
COLLECTIVES = ("vllm", "sglang")

#: What /v1/models names as its owner -> the engine.
OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama_cpp"}
COMMON_GROUND = "openai"


def has_collective(engine: str, roles: Mapping[str, str]) -> bool:
    """Whether a load's GPUs have to talk to each other. ``roles``: role name -> device."""
    return engine in COLLECTIVES and sum(device != "cpu" for device in roles.values()) > 1


def adapter_for(engine: str) -> Adapter:
    """The engine's adapter. One that is not built is refused by name."""
    if engine not in ADAPTERS:
        raise RefusedError(f"engine {engine!r} has no adapter in this version ({', '.join(ADAPTERS)} have)")
    return ADAPTERS[engine]


def endpoint_engine(client: Client) -> str:
    """Which engine answers at an address, by the owner that it names; else the common ground."""
    models = objects_of(get_document(client, "/v1/models"), "data")
    return next((OWNERS[owner] for model in models if (owner := str(model.get("owned_by"))) in OWNERS), COMMON_GROUND)


def endpoint_adapter(engine: str) -> Adapter:
    """The adapter for an address: an engine's own, or the common ground for one that isn't known."""
    return ADAPTERS.get(engine, OpenAi())
