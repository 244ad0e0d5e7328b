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
#: The last letter of Latin Extended-B; what comes after it is phonetic, Greek, Cyrillic, CJK and so on.
LAST_LATIN = 0x24F
MAX_OTHER_SCRIPT_SHARE = 0.3


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


def repetition(text: str) -> str | None:
    """The loop that a text is, with its share; None where it is none."""
    words = text.lower().split()
    loop = repeated_ngram(words)
    return f"text that repeats itself: {loop}" if loop else None


def repeated_ngram(words: list[str]) -> str | None:
    """The first n-gram that follows itself too often, how often, and its share of all words."""
    for size, limit in MAX_REPEATS.items():
        streak = 1
        for start in range(size, len(words) - size + 1):
            # Compare with the n-gram right before it; a streak of `size` equal words is one repetition.
            streak = streak + 1 if words[start : start + size] == words[start - size : start] else 1
            if streak - 1 >= size * (limit - 1) - (size - 1):
                times = _times(words, start, size)
                share = times * size / len(words)
                return (
                    f"{' '.join(words[start : start + size])[:60]!r} repeated {times} times, {share:.0%} of all words"
                )
    return None


def _times(words: list[str], start: int, size: int) -> int:
    """How often the n-gram at ``start`` stands without a break, there, before and after."""
    gram, first, end = words[start : start + size], start, start + size
    while first >= size and words[first - size : first] == gram:
        first -= size
    while words[end : end + size] == gram:
        end += size
    return (end - first) // size


def foreign(text: str) -> str | None:
    """Text in another script than the Latin one, which is another language than the question's; short answers too."""
    letters = [character for character in text if character.isalpha()]
    other = sum(ord(character) > LAST_LATIN for character in letters)
    if letters and other / len(letters) > MAX_OTHER_SCRIPT_SHARE:
        return f"another language than English: {other} of {len(letters)} letters are of another script"
    return None


def not_english(text: str) -> str | None:
    """Other scripts, hardly any letters, or hardly any of the words that English can't do without."""
    other = foreign(text)
    if other:
        return other
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
