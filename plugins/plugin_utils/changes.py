# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two tries of a lane, in its recipe, contract, host, engine and protocols. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
#: Of an identity: what decides how a lane goes. Hashes of what is compared in full are left out.
PINS = ("collection", "engine_version", "weights_sha256", "protocols", "simulated")
#: Of its build: what the recipe names, but doesn't hold.
HELD = ("lock_sha256", "patch_set_sha256")
#: Words about a setting, which change nothing.
WORDS = ("reason", "source", "sources", "caveats")


@dataclass(frozen=True)
class Change:
    """One place that differs; ``None`` where it wasn't there at all."""

    place: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        before, after = (value if value is not None else "absent" for value in (self.before, self.after))
        return f"{self.place}: {before} -> {after}"


def pins_of(identity: Document, **parts: Document | None) -> dict[str, Any]:
    """What a try rested on: ``{collection, protocols, …, recipe, contract, topology}``; a part that isn't known is left out."""
    known = {name: identity[name] for name in PINS if identity.get(name) is not None}
    build = {name: value for name, value in (identity.get("engine") or {}).items() if name in HELD and value}
    named = {name: part for name, part in {"build": build, **parts}.items() if part}
    return {**known, **named}


def changes(before: Document, after: Document) -> list[Change]:
    """Every place that differs, by name; a part that one of the two doesn't have at all isn't compared."""
    shared = [name for name in before if name in after]
    old, new = ({name: pins[name] for name in shared} for pins in (before, after))
    flat_old, flat_new = dict(_flat(old)), dict(_flat(new))
    places = sorted({*flat_old, *flat_new})
    return [
        Change(place, flat_old.get(place), flat_new.get(place))
        for place in places
        if flat_old.get(place) != flat_new.get(place)
    ]


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, value as text) of every leaf; members of a list are known by their names where they have names."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in WORDS:
                yield from _flat(inner, f"{place}.{name}" if place else str(name))
    elif (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(item, Mapping) and "name" in item for item in value)
    ):
        for item in value:
            rest = {name: inner for name, inner in item.items() if name != "name"}
            yield from _flat(rest, f"{place}.{item['name']}")
    elif isinstance(value, list | tuple) and value and all(_is_argument(item) for item in value):
        for item in value:
            yield f"{place}.{item[0]}", " ".join(map(str, item[1:])) or "given"
    else:
        yield place, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_argument(item: Any) -> bool:
    return isinstance(item, list | tuple) and bool(item) and isinstance(item[0], str) and item[0].startswith("-")
