"""Checkers accept the right answer and refuse near misses."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.answers import (
    call_mismatch,
    json_mismatch,
    mismatch,
)

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "boxes": {"type": "integer"}},
    "required": ["city", "boxes"],
    "additionalProperties": False,
}
WANTED = [{"name": "get_weather", "arguments": {"city": "Oakland"}}]


def call(name: str = "get_weather", arguments: str = '{"city": "Oakland"}', ids: int = 1) -> dict[str, Any]:
    return {
        "index": 0, "id": "call_1", "name": name, "arguments": arguments, "ids": ["call_1"] * ids, "names": [name], "fragments": [arguments],
    }  # fmt: skip


def test_mismatch() -> None:
    assert mismatch("It is Paris.", r"\bParis\b") is None
    assert mismatch("Parisian", r"\bParis\b")
    assert mismatch("<think>Paris</think>", "paris", "</?think>")


def test_json() -> None:
    assert json_mismatch('{"city": "Paris", "boxes": 3}', SCHEMA, {"city": "paris", "boxes": "3"}) is None


@pytest.mark.parametrize(
    "text",
    [
        'Here it is: {"city": "Paris", "boxes": 3}',
        '{"city": "Paris"}',
        '{"city": "Paris", "boxes": "3"}',
        '{"city": "Paris", "boxes": true}',
        '{"city": "Paris", "boxes": 3, "more": 1}',
        '{"city": "Rome", "boxes": 3}',
        "[]",
        '{"city": "Paris", "boxes": 3',
    ],
)
def test_json_near_misses(text: str) -> None:
    assert json_mismatch(text, SCHEMA, {"city": "paris"})


def test_calls() -> None:
    assert call_mismatch((call(),), WANTED) is None


@pytest.mark.parametrize(
    "calls",
    [
        (),
        (call(), call()),
        (call(name="weather"),),
        (call(arguments='{"city": "Lisbon"}'),),
        (call(arguments='{"city": "Oakland", "unit": "C"}'),),
        (call(arguments='{"city": "Oakl'),),
        (call(arguments='["Oakland"]'),),
        (call(ids=2),),
        (call(ids=0),),
    ],
)
def test_call_near_misses(calls: tuple[dict[str, Any], ...]) -> None:
    assert call_mismatch(calls, WANTED)


def test_parallel_calls_in_any_order() -> None:
    wanted = [*WANTED, {"name": "get_weather", "arguments": {"city": "Lisbon"}}]
    assert call_mismatch((call(arguments='{"city": "Lisbon"}'), call()), wanted) is None
    assert call_mismatch((call(), call()), wanted)
