# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of a prompt by its characters, where an engine has no page for its tokenizer: calibrated by the usage of requests of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .prompts import Messages, nonce, sentences

#: Lines of the first two texts: long enough for a slope, short enough to be cheap.
FIRST_LINES = (40, 160)
#: A text much longer than any that was measured has one of nearly its length measured first; never one beyond the context.
NEAR, SHORTER = 0.9, 0.97
#: Characters of a line of our log with its newline, on average: 63 with entries of two digits, 65 with five.
LINE_CHARACTERS = 65


class Calibration:
    """A straight line through the two longest samples. ``limit``: tokens that the context holds. ``measure`` sends messages and gives their tokens by
    usage, None where usage is not told.

    Entries of the texts have numbers that grow, so that a line through short texts misses long ones by more than the tolerance; hence a sample near
    each length. The sentences of two seeds vary too: by up to 1 % at 4,000 tokens, under the tolerance from 16,000 on. What it makes of a prompt
    is an estimate all the same: gates compare its usage with the target afterwards, so that a short one may end ``inconclusive``.
    """

    def __init__(self, measure: Callable[[Messages], int | None], seed: str, limit: int) -> None:
        self.measure = measure
        self.limit = limit
        self.seed = seed
        self.samples: list[tuple[int, int]] = []
        self.told = all(self._sample(lines) for lines in FIRST_LINES)

    def __call__(self, messages: Messages) -> int | None:
        length = characters(messages)
        if not self.told:
            return None
        held = self.samples[-1][0] + (self.limit - self.samples[-1][1]) / self._slope()
        if self.samples[-1][0] < NEAR * min(length, held):
            self.told = self._sample(round(SHORTER * min(length, held) / LINE_CHARACTERS))
        return round(self.samples[-1][1] + self._slope() * (length - self.samples[-1][0])) if self.told else None

    def _slope(self) -> float:
        """Tokens a character between the two longest samples."""
        (short, few), (long, many) = self.samples[-2:]
        return (many - few) / (long - short)

    def _sample(self, lines: int) -> bool:
        text: list[dict[str, Any]] = [
            {
                "role": "user",
                "content": "\n".join([nonce(self.seed, "calibration", lines), *sentences(self.seed)(lines)]),
            }
        ]
        tokens = self.measure(text)
        if tokens:
            self.samples.append((characters(text), tokens))
        return bool(tokens)


def characters(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)
