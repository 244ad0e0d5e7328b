"""Identity blocks and lane keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.identity import LaneKeyParts, lane_key
from ansible_collections.tandem.campaign.tests.fakes.identity import NAMES, identity


def test_null_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="recipe_sha256 is null without a reason"):
        replace(identity(), unknown={name: "x" for name in NAMES if name != "recipe_sha256"})


def test_a_known_field_has_no_reason() -> None:
    with pytest.raises(ValueError, match="recipe is known and has a reason"):
        replace(identity(), recipe="r")


def test_learning_drops_the_reason_and_keeps_the_others() -> None:
    known = identity().learned(recipe="r", engine_version=None)
    assert known.recipe == "r"
    assert "recipe" not in known.unknown
    assert known.unknown["engine_version"] == "not yet"


PARTS = LaneKeyParts(
    {"name": "r"}, "w", {"lock_sha256": "l"}, {"environment": []}, {"functional/v1": "p"}, {"gpus": []}
)


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": {"name": "r", "args": []}},
        {"weights": "other"},
        {"engine": {"lock_sha256": "m"}},
        {"contract": {"environment": [1]}},
        {"protocols": {"functional/v1": "q"}},
        {"host_class": {"gpus": ["H200"]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_part_changes_the_key(change: dict[str, Any]) -> None:
    assert lane_key(replace(PARTS, **change)) != lane_key(PARTS)


def test_the_key_is_stable() -> None:
    assert lane_key(PARTS) == lane_key(replace(PARTS))
