# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Source registries on the controller: every ``*.sources.toml`` beside a recipe file, validated; a recipe's sources have to stand in one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import tomllib

from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import InputError
from ..module_utils._words.source import REGISTRY_SCHEMA, Source
from .recipes import FoundRecipe
from .validation import validated


def sources_of(found: FoundRecipe) -> tuple[Source, ...]:
    """In the recipe's order. Raises :class:`InputError` naming the id that no registry has."""
    if not found.recipe.sources:
        return ()
    known = read_registries(found.file.parent)
    missing = next((name for name in found.recipe.sources if name not in known), None)
    if missing is not None:
        raise InputError(
            f"{found.file}: recipe {found.recipe.name!r}: source {missing!r} stands in no *.sources.toml beside it ({len(known)} are known)"
        )
    return tuple(known[name] for name in found.recipe.sources)


def read_registries(folder: Path) -> dict[str, Source]:
    """id -> source, of all registries of a folder; ids are unique over them."""
    found: dict[str, Source] = {}
    for file in sorted(folder.glob("*.sources.toml")):
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
            raise InputError(f"{file}: {exc}") from exc
        if document.pop("schema", None) != REGISTRY_SCHEMA:
            raise InputError(f"{file}: schema is not {REGISTRY_SCHEMA}")
        for item in document.get("source", []):
            source = validated(Source, item, f"{file}: source {item.get('id') if isinstance(item, dict) else item!r}")
            if source.id in found:
                raise InputError(f"{file}: source {source.id!r} stands there twice")
            found[source.id] = source
    return found


def source_documents(found: FoundRecipe, today: datetime.date) -> list[dict[str, Any]]:
    """For evidence: each source whole, with the reasons of ``today`` for a local proof as ``doubts``."""
    return [
        {
            **to_document(source),
            "observed": source.observed.isoformat(),
            "published": source.published.isoformat() if source.published else None,
            "doubts": source.doubts(today),
        }
        for source in sources_of(found)
    ]


def source_lines(found: FoundRecipe, today: datetime.date) -> list[str]:
    """For people: what each decision rests on, and where that needs local proof."""
    lines = []
    for source in sources_of(found):
        doubts = source.doubts(today)
        proof = f"; needs local proof: {', '.join(doubts)}" if doubts else ""
        lines.append(
            f"  source    {source.id} ({source.evidence.replace('_', ' ')}, {source.observed}): {source.decides}{proof}"
        )
    return lines
