# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that a recipe sets and its engine's release does not read: harmless, and without the effect that somebody hopes for. Pure.

Read in the sources of vLLM 0.22.1 and 0.25.1 (envs.py). A vendor's build of the same number may read more, so this is a note and refuses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .._words.recipe import Recipe

#: Engine and version -> variables (patterns) that this release does not read.
UNREAD: Mapping[tuple[str, str], str] = {
    ("vllm", "0.22.1"): r"VLLM_WSL2_ENABLE_PIN_MEMORY",
    ("vllm", "0.25.1"): r"VLLM_FLASHINFER_MOE_BACKEND|VLLM_USE_FLASHINFER_MOE_\w+",
}


def unread_variables(recipe: Recipe) -> list[str]:
    """Their names."""
    pattern = UNREAD.get((recipe.engine.kind, recipe.engine.version))
    return [name for name in recipe.env if pattern and re.fullmatch(pattern, name)]
