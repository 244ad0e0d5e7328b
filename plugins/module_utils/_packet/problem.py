# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a packet: one sentence each, with the file and the rule that it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: ``file``: can't be read as what it is; ``manifest``: differs from the listed hash, is missing or not listed; ``schema``: of no known kind or
#: version; ``member``: what this outcome needs is not there; ``identity``: documents of one lane speak of different things; ``link``: a hash or
#: value that one document gives of another doesn't hold; ``verdict``: doesn't follow from rows and checks; ``leak``: what may not be in there.
Rule = Literal["file", "manifest", "signature", "schema", "member", "identity", "link", "verdict", "leak"]


@dataclass(frozen=True)
class Problem:
    """``path`` is the packet's own, with ``/``; ``text`` names the value and what it should be."""

    rule: Rule
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}: {self.text}"
