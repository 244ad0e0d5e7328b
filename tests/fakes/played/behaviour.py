"""How a played engine behaves: one TOML file, schema ``tandem.played-engine/v1``. What it doesn't say is an ordinary, faultless vLLM."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import tomllib

SCHEMA = "tandem.played-engine/v1"
Flavour = Literal["vllm", "sglang", "llama_cpp", "openai"]


@dataclass(frozen=True)
class Reasoning:
    """``tokens`` before each visible answer where it reasons. ``switch``: what turns it on and off; ``ignored``: neither field has an effect."""

    tokens: int = 0
    default: bool = False
    switch: Literal["kwargs", "effort", "ignored"] = "kwargs"
    field: str = ""


@dataclass(frozen=True)
class Fault:
    """Something goes wrong in requests that fit all of these.

    ``kind``: a name in :mod:`.faults`. ``path``: the request's path begins so. ``match``: a pattern in its last words. ``requests``: which of
    them, counted from 1; empty: all. ``min_prompt_tokens``: only prompts so long. ``values``: the kind's own numbers.
    """

    kind: str
    path: str = "/v1/"
    match: str = ""
    requests: tuple[int, ...] = ()
    min_prompt_tokens: int = 0
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Behaviour:
    """Rates in tokens a second, times in seconds as they would be on the real host; ``time_scale`` shortens all of them."""

    flavour: Flavour = "vllm"
    version: str = "0.25.1"
    time_scale: float = 1.0
    overhead_s: float = 0.01
    prefill_tok_s: float = 10_000.0
    decode_tok_s: float = 100.0
    tokens_per_chunk: int = 1
    role: Literal["at_once", "with_text", "none"] = "with_text"
    usage: Literal["end", "each", "none"] = "end"
    cached_in_usage: bool = False
    prefix_caching: bool = False
    tool_fragment: int = 12
    answer_tokens: int = 0
    reasoning: Reasoning = Reasoning()
    log: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    fault: tuple[Fault, ...] = ()


def read_behaviour(path: Path, time_scale: float | None = None) -> Behaviour:
    """Refuses what it doesn't know: a misspelt fault would be a rehearsal of nothing."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    if document.pop("schema", None) != SCHEMA:
        raise ValueError(f"{path}: schema is not {SCHEMA}")
    behaviour = behaviour_of(document)
    return behaviour if time_scale is None else replace(behaviour, time_scale=time_scale)


def behaviour_of(document: dict[str, Any]) -> Behaviour:
    """The same from a mapping."""
    plain = {name: value for name, value in document.items() if name not in ("reasoning", "fault", "log")}
    _known(Behaviour, plain)
    flavour = plain.get("flavour", "vllm")
    if flavour not in get_args(Flavour):
        raise ValueError(f"flavour {flavour!r} is none of {', '.join(get_args(Flavour))}")
    reasoning, faults = document.get("reasoning", {}), document.get("fault", [])
    _known(Reasoning, reasoning)
    for fault in faults:
        _known(Fault, fault)
    return Behaviour(
        **plain,
        log=tuple(document.get("log", ())),
        reasoning=Reasoning(**reasoning),
        fault=tuple(Fault(**{**fault, "requests": tuple(fault.get("requests", ()))}) for fault in faults),
    )


def _known(kind: Any, document: dict[str, Any]) -> None:
    names = {item.name for item in fields(kind)}
    unknown = sorted(set(document) - names)
    if unknown:
        raise ValueError(f"{kind.__name__.lower()} has no {unknown[0]!r} (it has {', '.join(sorted(names))})")
