# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts of an exact length: seeded sentences, sized with the engine's own tokenizer, different from their first tokens on."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._words.profile import BurstGate, CapacityGate

Messages = list[dict[str, Any]]
#: Tokens of rendered messages as the engine counts them; None where it can't be asked.
Count = Callable[[Messages], "int | None"]

COLOURS = ("red", "blue", "green", "grey", "white", "black", "yellow", "brown")
CARRIERS = ("truck", "train", "barge", "van", "cart", "crane", "lift", "wagon")
GOODS = ("paper", "glass", "cloth", "seeds", "copper", "flour", "salt", "timber", "wool", "paint")
PLACES = ("hall", "yard", "dock", "store", "shed", "gate", "cellar", "loft")
#: Words that are one token in every tokenizer seen so far; they fill the last gap.
FILL = " and so on"
TOLERANCE = 0.005
MIN_TOLERANCE_TOKENS = 4
ROUNDS = 12


@dataclass(frozen=True)
class Prompt:
    """Messages and their length. ``counted`` is None where the engine's tokenizer could not be asked."""

    messages: Messages
    target: int
    counted: int | None


def nonce(*parts: object) -> str:
    """Twelve hex digits that follow from ``parts``."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


def sentences(seed: str) -> Callable[[int], list[str]]:
    """An endless log of deliveries: the first ``count`` lines, the same for the same seed."""
    rng = random.Random(seed)
    lines: list[str] = []

    def first(count: int) -> list[str]:
        while len(lines) < count:
            # One draw a line, taken apart: six would be most of the time that a long prompt takes to make.
            draw, colour = divmod(rng.getrandbits(64), len(COLOURS))
            draw, carrier = divmod(draw, len(CARRIERS))
            draw, goods = divmod(draw, len(GOODS))
            draw, place = divmod(draw, len(PLACES))
            draw, boxes = divmod(draw, 98)
            lines.append(
                f"Entry {len(lines) + 1}: the {COLOURS[colour]} {CARRIERS[carrier]} brought {boxes + 2} boxes of "
                f"{GOODS[goods]} to {PLACES[place]} {draw % 40 + 1}."
            )
        return lines[:count]

    return first


def sized_prompt(seed: str, target: int, build: Callable[[list[str]], Messages], count: Count) -> Prompt:
    """Messages of ``target`` tokens: whole sentences up to it, then filling words. ``build`` puts the sentences into messages."""
    source = sentences(seed)
    lines = max(1, target // 22)
    best: tuple[int, int] | None = None
    for _round in range(ROUNDS):
        counted = count(build(source(lines)))
        if counted is None:
            return Prompt(build(source(lines)), target, None)
        if counted <= target and (best is None or counted > best[1]):
            best = (lines, counted)
        per_line = counted / lines
        step = int((target - counted) / per_line)
        if step == 0:
            if counted <= target:
                break
            step = -1
        lines = max(1, lines + step)
    if best is None:
        messages = build(source(1))
        return Prompt(messages, target, count(messages))
    return _fill(build, source(best[0]), target, best[1], count)


def _fill(build: Callable[[list[str]], Messages], lines: list[str], target: int, counted: int, count: Count) -> Prompt:
    """Closes the gap of less than one sentence with single-token words."""
    words = FILL.split()
    extra = target - counted
    messages = build(lines)
    for _round in range(4):
        filled = [*lines, " ".join(words[number % len(words)] for number in range(extra))] if extra > 0 else lines
        messages = build(filled)
        found = count(messages)
        if found is None or found == target:
            return Prompt(messages, target, found)
        counted = found
        extra = max(0, extra + target - found)
    return Prompt(messages, target, counted)


def target_tokens(gate: CapacityGate | BurstGate, protocol: dict[str, Any]) -> int:
    """A prompt's length: what the context leaves beside the answer and the protocol's margin."""
    return int(gate.context_tokens - gate.max_tokens - protocol["margin_tokens"])


def unique_prompt(mark: str, protocol: dict[str, Any], target: int, count: Count) -> Messages:
    """A capacity or burst protocol's request. ``mark`` stands first, so that no two share more than what the chat template puts before their own words."""

    def build(lines: list[str]) -> Messages:
        return [
            {"role": "system", "content": f"{mark} {protocol['system']}"},
            {"role": "user", "content": "\n".join([*lines, protocol["question"]])},
        ]

    return sized_prompt(mark, target, build, count).messages


def within_tolerance(prompt_tokens: int, target: int) -> bool:
    """|prompt − target| ≤ 0.5 %, and never stricter than a few tokens."""
    return abs(prompt_tokens - target) <= max(MIN_TOLERANCE_TOKENS, target * TOLERANCE)
