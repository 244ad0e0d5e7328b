# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile: one reasoning setting and its gates, as a recipe says them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .strict import FORBID_EXTRA

#: Of recipes and profiles: they name files.
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,95}")
MAX_CONCURRENCY = 64


@dataclass(frozen=True)
class Reasoning:
    """How a profile asks for reasoning. ``kwargs`` go into ``chat_template_kwargs``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    mode: Literal["off", "on", "effort"] = "off"
    effort: str | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        allowed = {
            "off": self.effort in (None, "none"),
            "on": self.effort is None,
            "effort": self.effort not in (None, "none"),
        }
        if not allowed[self.mode]:
            raise ValueError(
                f"effort {self.effort!r} does not go with mode {self.mode!r} (off: none at all or 'none'; on: none at all)"
            )


@dataclass(frozen=True)
class FunctionalGate:
    """Which checks of the protocol run, and what a failure means.

    ``reasoning_tokens``: beside each check's own allowance for the visible answer; by default :data:`REASONING_TOKENS` where the profile reasons.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    protocol: str
    required: tuple[str, ...]
    advisory: tuple[str, ...] = ()
    reasoning_tokens: int | None = None

    def __post_init__(self) -> None:
        both = sorted(set(self.required) & set(self.advisory))
        if both:
            raise ValueError(f"check {both[0]!r} is both required and advisory")
        if not self.required:
            raise ValueError("a functional gate needs at least one required check")


#: What a profile that reasons may spend on it beside a visible answer (the published campaign's headroom).
REASONING_TOKENS = 4096


@dataclass(frozen=True)
class QualityGate:
    """Quality with its budgets in tokens; both are sent as one cap."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    protocol: str
    required: bool = True
    visible_tokens: int = 512
    reasoning_tokens: int = 0


@dataclass(frozen=True)
class CapacityGate:
    """One capacity lane: measured ``requests`` after ``warmup`` marked ones, one at a time."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    protocol: str
    context_tokens: int
    requests: int = 12
    warmup: int = 1
    max_tokens: int = 256

    def __post_init__(self) -> None:
        if self.requests < 1 or self.warmup < 0 or self.max_tokens < 2:
            raise ValueError("capacity needs requests >= 1, warmup >= 0 and max_tokens >= 2")


@dataclass(frozen=True)
class BurstGate:
    """``concurrency`` requests at one moment, beside one alone: a diagnostic after the capacity lanes, never required."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    protocol: str
    context_tokens: int
    concurrency: int = 4
    max_tokens: int = 128

    def __post_init__(self) -> None:
        if not 2 <= self.concurrency <= MAX_CONCURRENCY or self.max_tokens < 2:
            raise ValueError(f"burst needs concurrency of 2 to {MAX_CONCURRENCY} and max_tokens >= 2")


@dataclass(frozen=True)
class Profile:
    """One reasoning setting with its own gates. All profiles of a recipe run in one load."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    name: str
    functional: FunctionalGate
    reasoning: Reasoning = Reasoning()
    quality: QualityGate | None = None
    capacity: tuple[CapacityGate, ...] = ()
    burst: BurstGate | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(
                f"profile name {self.name!r}: it names files; lower-case letters, digits, '.', '_' and '-' only, 96 at most"
            )

    @property
    def functional_reasoning_tokens(self) -> int:
        """The functional gate's allowance for reasoning."""
        declared = self.functional.reasoning_tokens
        silent = self.reasoning.mode == "off"
        return declared if declared is not None else (0 if silent else REASONING_TOKENS)

    def gates(self) -> tuple[tuple[str, str], ...]:
        """(gate, its protocol's name) in the order in which they run."""
        quality = (("quality", self.quality.protocol),) if self.quality else ()
        burst = (("burst", self.burst.protocol),) if self.burst else ()
        capacity = (("capacity", lane.protocol) for lane in self.capacity)
        return (("functional", self.functional.protocol), *quality, *capacity, *burst)

    def protocols(self) -> tuple[str, ...]:
        """Names of the protocols of its gates, in order."""
        return tuple(protocol for _gate, protocol in self.gates())

    def timed(self) -> tuple[tuple[str, int], ...]:
        """(gate, context in tokens) of everything whose prompts have an exact length."""
        burst = (("burst", self.burst.context_tokens),) if self.burst else ()
        return (*(("capacity", lane.context_tokens) for lane in self.capacity), *burst)
