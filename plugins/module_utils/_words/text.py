# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from servers, logs and models is hostile: before it meets a terminal or a message it is made plain and short."""

from __future__ import annotations

import re

ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str, limit: int = 400) -> str:
    """One harmless line: no escape sequences, no control or direction characters, no halves of a pair, at most ``limit`` characters."""
    clean = CONTROL.sub("", ESCAPE.sub("", text.replace("\n", " ").replace("\t", " "))).rstrip()
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def plain_lines(text: str, count: int, limit: int = 400) -> list[str]:
    """The last ``count`` lines that say something, each made plain."""
    lines = (plain(line, limit) for line in text.splitlines())
    return [line for line in lines if line][-count:]
