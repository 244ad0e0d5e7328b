# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipe sets and protocols on the controller: found on the search path, read as TOML, validated, names unique over all of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import tomllib

from ..module_utils._words.errors import InputError
from ..module_utils._words.profile import Profile
from ..module_utils._words.recipe import SET_SCHEMA, Recipe
from ..module_utils._words.strict import FORBID_EXTRA
from .validation import validated

COLLECTION = Path(__file__).resolve().parents[2]
COLLECTION_RECIPES = COLLECTION / "playbooks" / "recipes"
COLLECTION_PROTOCOLS = COLLECTION / "playbooks" / "protocols"
PROTOCOL_SCHEMA = "tandem.protocol/v1"
#: A context below this is no long one.
MIN_CONTEXT_TOKENS = 2048


@dataclass(frozen=True)
class RecipeSet:
    """One file."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    schema: str
    recipe: tuple[Recipe, ...]

    def __post_init__(self) -> None:
        if self.schema != SET_SCHEMA:
            raise ValueError(f"schema is {self.schema!r}, this version reads {SET_SCHEMA!r}")


@dataclass(frozen=True)
class FoundRecipe:
    """A recipe and the file it stands in."""

    recipe: Recipe
    file: Path


@dataclass(frozen=True)
class Protocol:
    """A gate definition, its file's text and the sha256 of the file's bytes."""

    name: str
    document: dict[str, Any]
    sha256: str
    text: str = ""


def search_path(recipe_paths: list[str], inventory_dir: str | None) -> list[Path]:
    """``campaign_recipe_paths``, ``<inventory_dir>/recipes``, the collection's own; in this order, those that exist."""
    folders = [Path(item).expanduser() for item in recipe_paths]
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise InputError(f"campaign_recipe_paths: {missing[0]} is no folder")
    if inventory_dir:
        folders.append(Path(inventory_dir) / "recipes")
    return [folder for folder in (*folders, COLLECTION_RECIPES) if folder.is_dir()]


def read_recipes(folders: list[Path]) -> dict[str, FoundRecipe]:
    """Every recipe of every ``*.toml``. A name that stands twice is refused, as it would be a matter of luck which one runs."""
    found: dict[str, FoundRecipe] = {}
    for folder in dict.fromkeys(path.resolve() for path in folders):
        for file in sorted(folder.glob("*.toml")):
            if file.name.endswith(".sources.toml"):
                continue
            for recipe in read_set(file).recipe:
                if recipe.name in found:
                    raise InputError(
                        f"{file}: recipe {recipe.name!r} already stands in {found[recipe.name].file}; names are unique over all paths"
                    )
                found[recipe.name] = FoundRecipe(recipe, file)
    return found


def read_set(file: Path) -> RecipeSet:
    """One recipe file. Errors name the file, the recipe and the key."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise InputError(f"{file}: {exc}") from exc
    names = {
        f"recipe[{number}]": entry.get("name")
        for number, entry in enumerate(document.get("recipe", []))
        if isinstance(entry, dict)
    }
    try:
        return validated(RecipeSet, document, str(file))
    except InputError as exc:
        # Positions are for machines; people know their recipes by name.
        text = str(exc)
        for position, name in names.items():
            text = text.replace(f"{position}", f"recipe {name!r}")
        raise InputError(text) from exc


def recipe_named(name: str, recipes: dict[str, FoundRecipe], folders: list[Path]) -> FoundRecipe:
    """The recipe, or an error that lists what there is."""
    if name not in recipes:
        known = ", ".join(sorted(recipes)) or "none"
        raise InputError(f"campaign_recipes: no recipe {name!r} in {', '.join(map(str, folders))} (there are: {known})")
    return recipes[name]


def read_protocol(name: str) -> Protocol | None:
    """The protocol's file, ``capacity/v3`` as ``capacity-v3.toml``; None where this version has none of that name."""
    file = COLLECTION_PROTOCOLS / f"{name.replace('/', '-')}.toml"
    if not file.is_file():
        return None
    data = file.read_bytes()
    text = data.decode("utf-8")
    document = tomllib.loads(text)
    if document.get("schema") != PROTOCOL_SCHEMA or document.get("name") != name:
        raise InputError(f"{file}: schema and name have to be {PROTOCOL_SCHEMA!r} and {name!r}")
    return Protocol(name, document, hashlib.sha256(data).hexdigest(), text)


def read_lock(found: FoundRecipe) -> tuple[dict[str, str], str]:
    """({distribution: version}, sha256) of the recipe's engine lock, ``locks/<name>`` beside the recipe file."""
    file = found.file.parent / "locks" / str(found.recipe.engine.lock)
    try:
        data = file.read_bytes()
    except OSError as exc:
        raise InputError(
            f"{found.file}: recipe {found.recipe.name!r}: engine.lock {str(file)!r} can't be read"
        ) from exc
    pins: dict[str, str] = {}
    for line in data.decode("utf-8").splitlines():
        text = line.split("#", 1)[0].split(" --hash", 1)[0].strip()
        if text:
            name, separator, version = text.partition("==")
            if not separator:
                raise InputError(f"{file}: {text!r} is not pinned with ==")
            pins[name.strip().lower().replace("_", "-")] = version.strip()
    return pins, hashlib.sha256(data).hexdigest()


def check_gates(found: FoundRecipe, protocols: dict[str, Protocol]) -> None:
    """Every check a recipe names has to be one of its protocol, and a long context has to leave room beside the answer."""
    recipe = found.recipe
    check_profiles(
        f"{found.file}: recipe {recipe.name!r}",
        recipe.profile,
        recipe.limits.context_tokens,
        protocols,
        "limits.context_tokens",
    )


def check_profiles(
    where: str,
    profiles: tuple[Profile, ...],
    context_tokens: int,
    protocols: dict[str, Protocol],
    limit: str = "context_tokens",
) -> None:
    """The same for profiles from anywhere. ``limit`` is what a person calls the context's size there.

    Each protocol has to be of its gate's kind, too: a diagnostic never enters a capacity table.
    """
    for profile in profiles:
        for gate, name in profile.gates():
            kind = protocols[name].document["kind"] if name in protocols else gate
            if kind != gate:
                raise InputError(
                    f"{where}: profile {profile.name}: {name} is a {kind} protocol, it can't be the {gate} gate's"
                )
        quality = protocols.get(profile.quality.protocol) if profile.quality else None
        if quality and profile.quality and "context" in quality.document:
            left = context_tokens - profile.quality.visible_tokens - profile.quality.reasoning_tokens
            if left < MIN_CONTEXT_TOKENS:
                raise InputError(
                    f"{where}: profile {profile.name}: {quality.name} asks for a long context, and {limit} = {context_tokens} "
                    f"leaves {left} tokens beside the answer; {MIN_CONTEXT_TOKENS} are needed"
                )
        protocol = protocols.get(profile.functional.protocol)
        if protocol is None:
            continue
        known = protocol.document["check"]
        for check in (*profile.functional.required, *profile.functional.advisory):
            if check not in known:
                raise InputError(
                    f"{where}: profile {profile.name}: {protocol.name} has no check {check!r} (it has {', '.join(known)})"
                )
