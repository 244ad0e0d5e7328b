# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring your own endpoint: the suite for an address that somebody else serves. Pure but for reading recipes and protocols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import InputError
from ..module_utils._words.identity import Identity
from ..module_utils._words.profile import (
    REASONING_TOKENS,
    CapacityGate,
    FunctionalGate,
    Profile,
    QualityGate,
    Reasoning,
)
from ..module_utils._words.recipe import DeclaredCaveat
from ..module_utils._words.suite import Suite
from .recipes import MIN_CONTEXT_TOKENS, Protocol, check_profiles, read_protocol
from .validation import validated

REQUIRED = ("known_answer", "coding_smoke", "json_schema", "json_object", "streaming", "coherence", "tool_call", "tool_stream", "tool_result")  # fmt: skip
ADVISORY = ("tool_batch", "tool_parallel", "responses_text", "responses_tool", "responses_result")
#: Tokens that a long retrieval asks for, and that the capacity lane's baseline does.
LONG_RETRIEVAL, BASELINE = 32_000, 32_768
NOT_OURS = DeclaredCaveat(
    "endpoint",
    "The engine was running already and was not started here: its weights, build and settings are what it says of itself, and nothing of them is proven.",
)


def default_profile(context_tokens: int, *, reasons: bool) -> Profile:
    """What is run where nothing else is said: every check that the context has room for, reasoning left as the endpoint has it.

    An endpoint that ``reasons`` unasked gets budgets for it, and its generation is timed from the first output on.
    """
    retrieval = "retrieval_30k" if context_tokens >= LONG_RETRIEVAL else "retrieval_1k"
    thought = REASONING_TOKENS if reasons else 0
    quality = QualityGate("quality/v3", reasoning_tokens=thought)
    room = context_tokens >= MIN_CONTEXT_TOKENS + quality.visible_tokens + thought
    baseline = min(BASELINE, context_tokens)
    capacity = (
        CapacityGate("capacity/v4-reasoning", baseline, max_tokens=2048)
        if reasons
        else CapacityGate("capacity/v3", baseline)
    )
    return Profile(
        "as-served",
        FunctionalGate("functional/v1", (*REQUIRED, retrieval), ADVISORY),
        Reasoning("on" if reasons else "off"),
        quality if room else None,
        (capacity,),
    )


def profiles_from(document: Mapping[str, Any], context_tokens: int, *, reasons: bool) -> tuple[Profile, ...]:
    """``gate_profile``, in the shape of a recipe's; the default where it is empty."""
    return (
        (validated(Profile, dict(document), "gate_profile"),)
        if document
        else (default_profile(context_tokens, reasons=reasons),)
    )


def model_of(asked: str, told: Mapping[str, Any], url: str) -> str:
    """The name to ask for: the one that is wanted, else the first that the endpoint lists."""
    listed = [str(name) for name in told["models"]]
    if asked and asked not in listed:
        raise InputError(f"gate_model {asked!r} is not served at {url} (it lists {', '.join(listed) or 'none'})")
    if not listed:
        raise InputError(f"nothing at {url}/v1/models names a model: {told['problem'] or 'its list is empty'}")
    return asked or listed[0]


def context_of(declared: int, told: Mapping[str, Any], url: str) -> int:
    """The context to keep to: the smaller of what is declared and what the endpoint says."""
    served = told["facts"]["context_tokens"]
    known = [tokens for tokens in (declared, served) if tokens]
    if not known:
        raise InputError(f"{url} does not say how long its context is; give it as gate_context_tokens")
    return int(min(known))


def endpoint_suite(
    model: str, told: Mapping[str, Any], profiles: tuple[Profile, ...], context_tokens: int
) -> tuple[Suite, dict[str, Protocol]]:
    """(suite, protocols). Refuses a gate that this version has no protocol for, or that the context has no room for."""
    name = re.sub(r"[^a-z0-9._-]+", "-", model.lower()).strip("-.") or "model"
    suite = Suite(name[:96], model, str(told["engine"]), context_tokens, profiles, caveats=(NOT_OURS,))
    protocols = {}
    for profile in profiles:
        for wanted in profile.protocols():
            protocol = read_protocol(wanted)
            if protocol is None:
                raise InputError(f"gate_profile: protocol {wanted!r} is not in this version of the collection")
            protocols[wanted] = protocol
        for gate, tokens in profile.timed():
            if tokens > context_tokens:
                raise InputError(
                    f"gate_profile: {gate} at {tokens} tokens is beyond the {context_tokens} of the endpoint"
                )
    check_profiles(f"endpoint {model}", profiles, context_tokens, protocols)
    return suite, protocols


def endpoint_lane(
    suite: Suite, protocols: Mapping[str, Protocol], told: Mapping[str, Any], url: str, identity: Identity, folder: str
) -> dict[str, Any]:
    """The lane for the tasks that follow, in the shape of :func:`..action.plan.lane_document` as far as an address has one."""
    known = identity.learned(
        engine={"kind": suite.engine},
        engine_version=told["facts"]["version"],
        protocols={name: protocol.sha256 for name, protocol in protocols.items()},
    )
    return {
        "name": suite.name,
        "action": "run",
        "refusal": None,
        "stored": None,
        "recipe": None,
        "suite": to_document(suite),
        "protocols": {name: protocol.document for name, protocol in protocols.items()},
        "protocol_texts": {name: protocol.text for name, protocol in protocols.items()},
        "endpoint": {
            "url": url,
            "model": suite.model,
            "context_tokens": suite.context_tokens,
            **{key: told[key] for key in ("engine", "models", "facts")},
        },
        "identity": to_document(known),
        "lane_key": None,
        "snapshot": None,
        "base_url": url,
        "folder": folder,
    }
