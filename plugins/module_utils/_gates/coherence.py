# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a free answer is language at all: empty, broken, looping or foreign text is named, never scored. Pure."""

from __future__ import annotations

import re
import zlib

#: The commonest words of English prose; about half of any text is made of them, a fifth is already too few.
ENGLISH = frozenset(
    re.findall(
        r"\S+",
        """
        the of and a to in is it that for on with as are was be by this from at or an have not which they you but can has its
        their will more when one all there we if into your our these also such than other how may while so up out them he she
        his her
        """,
    )
)
MIN_ENGLISH_SHARE = 0.2
MIN_WORDS_FOR_LANGUAGE = 25
MAX_SAME_CHARACTER = 20
#: An n-gram said this often without a break is a loop. Short ones may be emphasis or a list, so they need more.
MAX_REPEATS = {1: 6, 2: 5, 3: 4, 4: 4, 5: 4, 6: 3, 7: 3, 8: 3, 12: 3, 16: 3}
MIN_COMPRESSED_SHARE = 0.22
MIN_LENGTH_FOR_COMPRESSION = 500
MIN_LETTER_SHARE = 0.6


def incoherence(text: str, *, english: bool = True) -> str | None:
    """What is wrong with the text, in words; None where nothing is."""
    if not text.strip():
        return "empty text"
    if "\ufffd" in text:
        return "broken multi-byte text (U+FFFD)"
    run = re.search(rf"([^\s])\1{{{MAX_SAME_CHARACTER},}}", text)
    if run:
        return f"the character {run[1]!r} {len(run[0])} times in a row"
    words = re.findall(r"\S+", text.lower())
    loop = repeated_ngram(words)
    if loop:
        return loop
    data = text.encode()
    if len(data) >= MIN_LENGTH_FOR_COMPRESSION and len(zlib.compress(data, 9)) / len(data) < MIN_COMPRESSED_SHARE:
        return "text that repeats itself throughout (it compresses like a loop)"
    return not_english(text) if english else None


def repeated_ngram(words: list[str]) -> str | None:
    """The first n-gram that follows itself too often."""
    for size, limit in MAX_REPEATS.items():
        streak = 1
        for start in range(size, len(words) - size + 1):
            # Compare with the n-gram right before it; a streak of `size` equal words is one repetition.
            streak = streak + 1 if words[start : start + size] == words[start - size : start] else 1
            if streak - 1 >= size * (limit - 1) - (size - 1):
                return f"{' '.join(words[start : start + size])[:60]!r} repeated {limit} times or more"
    return None


def not_english(text: str) -> str | None:
    """Other scripts, hardly any letters, or hardly any of the words that English can't do without."""
    solid = [character for character in text if not character.isspace()]
    letters = sum(character.isascii() and character.isalpha() for character in solid)
    if letters / len(solid) < MIN_LETTER_SHARE:
        return f"only {letters / len(solid):.0%} of it are English letters"
    words = re.findall(r"[a-z']+", text.lower())
    if len(words) >= MIN_WORDS_FOR_LANGUAGE:
        share = sum(word in ENGLISH for word in words) / len(words)
        if share < MIN_ENGLISH_SHARE:
            return f"only {share:.0%} of its words are common English ones: another language, or none"
    return None
