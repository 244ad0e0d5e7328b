"""Hostile text becomes harmless."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.text import plain, plain_lines


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("a\r\x08b", "ab"),
        ("\u202eevil", "evil"),
        ("two\nlines\tand a tab  ", "two lines and a tab"),
        ("\x9b31mC1", "31mC1"),
        ("  indented", "  indented"),
    ],
)
def test_plain(hostile: str, harmless: str) -> None:
    assert plain(hostile) == harmless


def test_plain_is_bounded() -> None:
    assert len(plain("x" * 1000, 50)) == 50


def test_last_lines_that_say_something() -> None:
    assert plain_lines("a\n\n b\n\x1b[0m\nc\n", 2) == [" b", "c"]
