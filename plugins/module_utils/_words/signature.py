# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A signature: what a line of an engine's log means, where that is known, and the way out. The shape of ``[[signature]]`` in signatures.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from .strict import FORBID_EXTRA

SIGNATURES_SCHEMA = "tandem.signatures/v1"


@dataclass(frozen=True)
class Signature:
    """``kind``: fault (why a load ended), stall (why a silent one is silent), warning (in a load that succeeded).

    ``contract``: ``NAME=value`` pairs whose absence from the start explains it. ``instead_of``: less exact signatures that it replaces.
    ``unless`` rules it out. ``place``: image and device belong to the sentence. ``caveat``: what a recipe has to declare for a warning.
    ``proof``: what is done about a warning beside that; ``token-ids`` compares the ids of the tokenizer as loaded with its library's correction.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    id: str
    pattern: str
    meaning: str
    action: str
    source: str
    kind: Literal["fault", "stall", "warning"] = "fault"
    contract: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    instead_of: tuple[str, ...] = ()
    unless: str | None = None
    place: bool = False
    caveat: str | None = None
    proof: Literal["token-ids"] | None = None

    def __post_init__(self) -> None:
        groups = 0
        for text in (self.pattern, self.unless or ""):
            try:
                groups = max(groups, re.compile(text).groups)
            except re.error as exc:
                raise ValueError(f"{text!r} is no pattern: {exc}") from exc
        if re.compile(self.pattern).match(""):
            raise ValueError(f"pattern {self.pattern!r} matches everything")
        try:
            "".join((self.meaning, self.action)).format(*[""] * groups)
        except (IndexError, KeyError, ValueError) as exc:
            raise ValueError(f"meaning or action names a group that the pattern does not have ({exc})") from exc
        wrong = next((item for item in self.contract if "=" not in item), None)
        if wrong:
            raise ValueError(f"contract {wrong!r} is not NAME=value")
        if self.kind == "warning" and not self.caveat:
            raise ValueError("a warning needs caveat, the id that a recipe declares")
        if self.kind != "warning" and self.proof:
            raise ValueError("proof belongs to a warning")
