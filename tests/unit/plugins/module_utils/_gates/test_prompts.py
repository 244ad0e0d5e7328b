"""Prompts have the length that was asked for and share nothing."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.prompts import (
    Messages,
    nonce,
    sized_prompt,
    within_tolerance,
)


def build(lines: list[str]) -> Messages:
    return [{"role": "user", "content": "\n".join([*lines, "What came?"])}]


def words(messages: Messages) -> int:
    """A tokenizer for tests: every word and every mark is a token, and the template takes seven."""
    import re

    return 7 + len(re.findall(r"\w+|[^\w\s]", messages[0]["content"]))


@pytest.mark.parametrize("target", [100, 944, 1000, 4096, 30000])
def test_exact(target: int) -> None:
    prompt = sized_prompt("seed", target, build, words)
    assert prompt.counted == words(prompt.messages)
    assert prompt.counted == target


def test_the_same_seed_gives_the_same_prompt_and_another_one_differs_from_the_start() -> None:
    one, same, other = (sized_prompt(seed, 500, build, words).messages[0]["content"] for seed in ("a", "a", "b"))
    assert one == same
    assert one[:60] != other[:60]


def test_without_a_tokenizer_it_says_so() -> None:
    def silent(_messages: Messages) -> Any:
        return None

    assert sized_prompt("seed", 500, build, silent).counted is None


def test_nonces_differ() -> None:
    assert len({nonce("s", number) for number in range(1000)}) == 1000


@pytest.mark.parametrize(("tokens", "good"), [(1000, True), (1004, True), (1006, False), (994, False)])
def test_tolerance(tokens: int, good: bool) -> None:
    assert within_tolerance(tokens, 1000) is good
