# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of engines' logs on the controller: the collection's own and those of the inventory, validated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import tomllib

from ..module_utils._words.errors import InputError
from ..module_utils._words.signature import SIGNATURES_SCHEMA, Signature
from .validation import validated

FILE = Path(__file__).resolve().parents[2] / "playbooks" / "diagnosis" / "signatures.toml"


@cache
def own_signatures() -> tuple[Signature, ...]:
    """The collection's file."""
    document = tomllib.loads(FILE.read_text(encoding="utf-8"))
    if document.pop("schema", None) != SIGNATURES_SCHEMA:
        raise InputError(f"{FILE}: schema is not {SIGNATURES_SCHEMA}")
    return tuple(validated(Signature, item, str(FILE)) for item in document["signature"])


def known_signatures(more: Iterable[Mapping[str, Any]]) -> tuple[Signature, ...]:
    """With those of ``campaign_signatures``; one with the id of ours takes its place."""
    theirs = [validated(Signature, dict(item), "campaign_signatures") for item in more]
    ids = [item.id for item in theirs]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice:
        raise InputError(f"campaign_signatures: {twice!r} stands there twice")
    return (*theirs, *(item for item in own_signatures() if item.id not in ids))
