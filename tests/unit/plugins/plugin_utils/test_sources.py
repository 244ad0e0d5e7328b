"""Every decision of a recipe says what it rests on, and where that is not enough."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import InputError
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import (
    COLLECTION_RECIPES,
    FoundRecipe,
    read_recipes,
)
from ansible_collections.tandem.campaign.plugins.plugin_utils.sources import read_registries, source_lines, sources_of

RECIPES = read_recipes([COLLECTION_RECIPES])
SOON, LATE = datetime.date(2026, 8, 20), datetime.date(2026, 12, 1)
GOOD = """schema = "tandem.source-registry/v1"
[[source]]
id = "one"
address = "https://example.org/one"
observed = 2026-08-01
evidence = "publisher"
engine = "any"
hardware = "none"
says = "s"
decides = "d"
settled_by = "functional"
"""


def test_every_recipe_of_the_collection_has_its_sources() -> None:
    for found in RECIPES.values():
        assert [source.id for source in sources_of(found)] == list(found.recipe.sources)


def test_what_needs_local_proof() -> None:
    lines = {line.split()[1]: line for line in source_lines(RECIPES["laguna-s-2.1-nvfp4-tp2"], SOON)}
    assert "needs local proof" not in lines["laguna-s-21-nvfp4-official"]
    assert lines["laguna-s-21-rtx-pro-discussion"].endswith("; needs local proof: its evidence is community")
    late = source_lines(RECIPES["laguna-s-2.1-nvfp4-tp2"], LATE)
    assert all("observed 122 days ago" in line for line in late)
    nemotron = source_lines(RECIPES["nemotron3-super-120b-a12b-nvfp4-tp2"], SOON)
    assert nemotron[1].endswith("; needs local proof: its hardware is other")
    assert "needs" not in source_lines(RECIPES["qwen35-122b-a10b-nvfp4-tp2"], SOON)[1]


def test_a_source_that_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "a.sources.toml").write_text(GOOD)
    demo = RECIPES["smollm2-135m-instruct-q4"].recipe
    assert sources_of(FoundRecipe(demo, tmp_path / "a.toml")) == ()
    named = FoundRecipe(replace(demo, sources=("one", "two")), tmp_path / "a.toml")
    with pytest.raises(InputError, match=r"source 'two' stands in no \*.sources.toml beside it \(1 are known\)"):
        sources_of(named)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("registry/v1", "registry/v9", "schema is not tandem.source-registry/v1"),
        ("https://", "http://", "is no https address"),
        ("publisher", "rumour", "evidence"),
        ("observed = 2026-08-01", "observed = 2026-08-01\npublished = 2026-09-01", "is after observed"),
        ("observed = 2026-08-01", 'observed = "yesterday"', "observed"),
        ('says = "s"', "", "says: is missing"),
        ('says = "s"', 'says = "s"\nmore = 1', "no such key"),
        ("[[source]]", "[[source", "a.sources.toml"),
    ],
)
def test_registries_that_are_none(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "a.sources.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_registries(tmp_path)
    assert says in str(caught.value)


def test_an_id_that_stands_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.sources.toml").write_text(GOOD)
    with pytest.raises(InputError, match="source 'one' stands there twice"):
        read_registries(tmp_path)
