# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts of an exact length without a tokenizer's page, for tokenizers of three kinds."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.calibration import Calibration
from ansible_collections.tandem.campaign.plugins.module_utils._gates.prompts import (
    Messages,
    sized_prompt,
    within_tolerance,
)

TOKENIZERS: dict[str, Callable[[str], int]] = {
    "a word": lambda text: len(text.split()) + 8,
    "words, marks, each digit": lambda text: len(re.findall(r"[A-Za-z]+|\d|[^\w\s]", text)) + 30,
    "pieces of four characters": lambda text: len(text) // 4 + 3,
}


def text_of(messages: Messages) -> str:
    return "\n".join(message["content"] for message in messages)


def build(lines: list[str]) -> Messages:
    return [{"role": "user", "content": "\n".join(["Read this log.", *lines, "What was delivered?"])}]


@pytest.mark.parametrize("tokens", TOKENIZERS.values(), ids=TOKENIZERS)
@pytest.mark.parametrize("target", [16000, 32000, 240000])
def test_the_length_is_met_within_tolerance_and_nothing_long_is_sent_twice(
    tokens: Callable[[str], int], target: int
) -> None:
    sent: list[int] = []

    def measure(messages: Messages) -> int:
        sent.append(tokens(text_of(messages)))
        return sent[-1]

    count = Calibration(measure, "seed", target + 256)
    for number in range(3):
        prompt = sized_prompt(f"prompt {number}", target, build, count)
        assert within_tolerance(tokens(text_of(prompt.messages)), target)
    assert len(sent) <= 4
    assert max(sent) <= max(target + 256, 4600)


def test_an_engine_that_tells_no_usage_is_asked_once() -> None:
    sent: list[Messages] = []

    def measure(messages: Messages) -> None:
        sent.append(messages)

    count = Calibration(measure, "seed", 32768)
    assert [count(build([])), count(build([]))] == [None, None]
    assert len(sent) == 1
