# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patch sets on the controller: ``patches/<name>.toml`` beside the recipe file, validated; their hash is over what they say."""

from __future__ import annotations

import tomllib

from ..module_utils._words.documents import sha256_of
from ..module_utils._words.errors import InputError
from ..module_utils._words.patch import PatchSet
from .recipes import FoundRecipe
from .validation import validated


def read_patch_set(found: FoundRecipe) -> tuple[PatchSet, str]:
    """(patch set, sha256 of its content). Comments and layout of the file don't change the hash, as they don't change the image."""
    derived = found.recipe.engine.derived
    name = derived.patch_set if derived else ""
    file = found.file.parent / "patches" / f"{name}.toml"
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise InputError(
            f"{found.file}: recipe {found.recipe.name!r}: patch set {str(file)!r} can't be read: {exc}"
        ) from exc
    patch_set = validated(PatchSet, document, str(file))
    if patch_set.name != name:
        raise InputError(f"{file}: its name is {patch_set.name!r}, the recipe wants {name!r}")
    return patch_set, sha256_of(patch_set)
