# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents: canonical JSON, its hash, and the way between JSON and the frozen dataclasses of this ring."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


def canonical_json(document: Any) -> str:
    """The one JSON text of a document: sorted keys, no spaces, UTF-8 as it is, no NaN."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(document: Any) -> str:
    """Hex sha256 of the canonical JSON of ``document`` (dataclasses allowed)."""
    return hashlib.sha256(canonical_json(to_document(document)).encode()).hexdigest()


def to_document(value: Any) -> Any:
    """A dataclass tree as plain JSON values; tuples become lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_document(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_document(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_document(item) for item in value]
    return value


#: What is taken as it stands; a stream has thousands of them.
PLAIN = (str, int, float, bool)


def from_document(cls: type[T], document: Any) -> T:
    """Builds the dataclass ``cls`` from plain JSON that :func:`to_document` wrote.

    For documents that the collection wrote itself; text from users goes through the controller's validator. Raises
    ``TypeError`` naming the class for a document that is not a mapping or has a key that the class does not.
    """
    if not isinstance(document, dict):
        raise TypeError(f"{cls.__name__}: a mapping is expected, got {type(document).__name__}")
    hints = _hints(typing.cast(Any, cls))
    unknown = sorted(set(document) - set(hints))
    if unknown:
        raise TypeError(f"{cls.__name__}: unknown key {unknown[0]!r}")
    return cls(**{key: _build(hints[key], value) for key, value in document.items()})


@functools.cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    """Field -> type; resolving them costs more than everything else here."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _build(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_document(hint, value)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [item for item in arguments if item is not type(None)]
        return _build(inner[0], value) if len(inner) == 1 else value
    if origin in (list, tuple) and arguments[0] in PLAIN:
        return origin(value)
    if origin is list:
        return [_build(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(_build(arguments[0], item) for item in value)
    if origin is dict:
        return {key: _build(arguments[1], item) for key, item in value.items()}
    return value
