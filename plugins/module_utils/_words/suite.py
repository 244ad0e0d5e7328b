# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gates run and how a lane is judged by it: from a recipe, or for an address that somebody else serves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .profile import Profile
from .recipe import Control, DeclaredCaveat, Recipe

#: Arguments that decide how an answer is taken apart.
PARSERS = re.compile(r"parser|jinja|template|auto-tool")


@dataclass(frozen=True)
class Suite:
    """Profiles against one served model. ``name`` names the lane, ``model`` is asked for, ``engine`` is the adapter's name.

    ``parsers``: the engine's arguments by which it takes answers apart, as they are typed; empty where they are not known.
    """

    name: str
    model: str
    engine: str
    context_tokens: int
    profile: tuple[Profile, ...]
    parsers: str = ""
    speculative: bool = False
    caveats: tuple[DeclaredCaveat, ...] = ()
    control: Control | None = None


def suite_of(recipe: Recipe) -> Suite:
    """A recipe's gates. Its engine serves it by its own name."""
    return Suite(
        name=recipe.name,
        model=recipe.name,
        engine=recipe.engine.kind,
        context_tokens=recipe.limits.context_tokens,
        profile=recipe.profile,
        parsers=parser_arguments(recipe.args),
        speculative=recipe.speculative != "off",
        caveats=recipe.caveats,
        control=recipe.control,
    )


def parser_arguments(arguments: Iterable[Iterable[str]]) -> str:
    """The arguments that decide how an answer is taken apart, as they stand in the recipe."""
    return ", ".join(" ".join(group) for group in map(tuple, arguments) if group and PARSERS.search(group[0]))
