# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door: text from users becomes frozen dataclasses here, with errors that name file, key and way out. The only pydantic import."""

from __future__ import annotations

from typing import Any, TypeVar

from ..module_utils._words.errors import InputError

try:
    from pydantic import TypeAdapter, ValidationError
except ImportError as exc:  # the sanity test imports every file without third-party packages
    PYDANTIC_ERROR: ImportError | None = exc
else:
    PYDANTIC_ERROR = None

T = TypeVar("T")


def validated(cls: type[T], document: Any, where: str) -> T:
    """``document`` as ``cls``. Raises :class:`InputError` that lists every problem as ``where: key: what is wrong``."""
    if PYDANTIC_ERROR is not None:
        raise InputError(
            "the controller's Python has no pydantic: install what the collection's requirements.txt names"
        ) from PYDANTIC_ERROR
    try:
        return TypeAdapter(cls).validate_python(document)
    except ValidationError as exc:
        problems = [f"{where}: {_key(error['loc'])}{_text(dict(error))}" for error in exc.errors(include_url=False)]
        raise InputError("; ".join(problems), problems=problems) from None


def _key(location: tuple[int | str, ...]) -> str:
    key = ""
    for part in location:
        key += f"[{part}]" if isinstance(part, int) else (f".{part}" if key else str(part))
    return f"{key}: " if key else ""


def _text(error: dict[str, Any]) -> str:
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return "no such key"
    if error["type"] in ("missing", "missing_argument"):
        return "is missing"
    text = str(error["msg"]).removeprefix("Value error, ")
    value = error.get("input")
    return text if error["type"] == "value_error" or isinstance(value, dict | list) else f"{text} (it is {value!r})"
