# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkers of answers. Each returns what is wrong, or None. Pure; an answer is data."""

from __future__ import annotations

import json
import re
from typing import Any

JSON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def mismatch(text: str, pattern: str, forbidden: str | None = None) -> str | None:
    """The text has to hold ``pattern`` (a regular expression, case ignored) and not ``forbidden``."""
    if not re.search(pattern, text, re.IGNORECASE):
        return f"the answer has no {pattern!r}"
    if forbidden and re.search(forbidden, text, re.IGNORECASE):
        return f"the answer has {forbidden!r}, which it must not"
    return None


def json_mismatch(text: str, schema: dict[str, Any], wanted: dict[str, str] | None = None) -> str | None:
    """The whole text has to be one JSON value of the schema; ``wanted`` maps keys to patterns of their values."""
    try:
        value = json.loads(text)
    except ValueError as exc:
        return f"the answer is no JSON: {exc}"
    problem = schema_mismatch(value, schema)
    if problem:
        return problem
    for key, pattern in (wanted or {}).items():
        if not re.fullmatch(pattern, _as_text(value.get(key)), re.IGNORECASE):
            return f"{key} is {value.get(key)!r}, {pattern!r} was wanted"
    return None


def schema_mismatch(value: Any, schema: dict[str, Any], path: str = "$") -> str | None:
    """The subset of JSON Schema that our protocols use: type, enum, properties, required, additionalProperties, items."""
    wanted = schema.get("type")
    if wanted and (
        not isinstance(value, JSON_TYPES[wanted]) or (isinstance(value, bool) and wanted in ("integer", "number"))
    ):
        return f"{path} is no {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} is {value!r}, none of {schema['enum']}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                return f"{path} lacks {key!r}"
        for key, item in value.items():
            if key in properties:
                problem = schema_mismatch(item, properties[key], f"{path}.{key}")
                if problem:
                    return problem
            elif schema.get("additionalProperties") is False:
                return f"{path} has {key!r}, which the schema does not allow"
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            problem = schema_mismatch(item, schema["items"], f"{path}[{number}]")
            if problem:
                return problem
    return None


def call_mismatch(calls: tuple[dict[str, Any], ...], wanted: list[dict[str, Any]]) -> str | None:
    """The tool calls have to be exactly the wanted ones, in any order: names, and patterns of arguments."""
    for call in calls:
        shared = _shared_index(call)
        if shared:
            return shared
    if len(calls) != len(wanted):
        return f"{len(calls)} tool calls, {len(wanted)} wanted"
    left = list(wanted)
    for call in calls:
        if len(call["ids"]) != 1:
            return f"a tool call whose id was given {len(call['ids'])} times"
        problem = arguments_problem(call["arguments"])
        if problem:
            return problem
        arguments = json.loads(call["arguments"])
        fitting = [
            item for item in left if item["name"] == call["name"] and _arguments_fit(arguments, item["arguments"])
        ]
        if not fitting:
            return f"a call {call['name']}({json.dumps(arguments)[:120]}) that was not wanted"
        left.remove(fitting[0])
    return None


def _shared_index(call: dict[str, Any]) -> str | None:
    ids = list(dict.fromkeys(call["ids"]))
    if len(ids) < 2:
        return None
    return f"{len(ids)} different ids on tool call index {call['index']}: {', '.join(ids)} ({', '.join(call['names'])}): parallel calls share one index"


def arguments_problem(text: str) -> str | None:
    """Arguments have to be one JSON object. Says how they are none: nothing, twice, unterminated, of another kind."""
    shown = f"{text[:120]!r}"
    if not text.strip():
        return "arguments that are empty"
    try:
        value, end = json.JSONDecoder().raw_decode(text.strip())
    except ValueError as exc:
        at_end = isinstance(exc, json.JSONDecodeError) and (exc.pos >= len(text.strip()) or "Unterminated" in exc.msg)
        return f"arguments that are {'unterminated' if at_end else 'no'} JSON: {shown}"
    rest = text.strip()[end:].strip()
    if rest:
        twice = "the same object twice (duplicate)" if rest == text.strip()[:end] else "one value and more"
        return f"arguments that are not one JSON value but {twice}: {shown}"
    return None if isinstance(value, dict) else f"arguments that are no object: {shown}"


def call_written_out(text: str, wanted: list[dict[str, Any]]) -> bool:
    """Whether a wanted call stands in plain text, as JSON or with its name before its arguments."""
    return any(
        re.search(
            rf"[\"']?name[\"']?\s*[:=]\s*[\"']?{re.escape(call['name'])}\b|\b{re.escape(call['name'])}\s*\(", text
        )
        for call in wanted
    )


def _arguments_fit(arguments: dict[str, Any], patterns: dict[str, str]) -> bool:
    return set(arguments) == set(patterns) and all(
        re.fullmatch(pattern, _as_text(arguments[key]), re.IGNORECASE) for key, pattern in patterns.items()
    )


def _as_text(value: Any) -> str:
    """What a pattern is held against: a string as it is, anything else as JSON. Types are the schema's business."""
    return value if isinstance(value, str) else json.dumps(value)
