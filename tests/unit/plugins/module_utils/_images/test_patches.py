"""The collection's patch sets against the real files of the public wheel sglang==0.5.16."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._images.patches import patched, wheel_files
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import InputError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.patch import Patch, PatchSet
from ansible_collections.tandem.campaign.plugins.plugin_utils.patch_sets import read_patch_set
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_recipes

REPOSITORY = Path(__file__).resolve().parents[5]
#: Laid by `make test-hosts` (tools/engine_sources.py).
SOURCES = Path(os.environ.get("TANDEM_DEMO_DIR") or REPOSITORY / ".demo") / "sources" / "sglang-0.5.16"
RECIPES = read_recipes([COLLECTION_RECIPES])
DEEPSEEK = read_patch_set(RECIPES["deepseek-v4-flash-0731-tp2"])
INKLING = read_patch_set(RECIPES["inkling-small-nvfp4-tp2"])
EDITS = {
    f"{patch_set.name}/{Path(patch.file).stem}": patch
    for patch_set, _hash in (DEEPSEEK, INKLING)
    for patch in patch_set.patch
    if patch.file
}


@pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the files of sglang==0.5.16 are not there; make test-hosts fetches them"
)
@pytest.mark.parametrize("patch", EDITS.values(), ids=EDITS.keys())
def test_guard_and_edit_hold_against_the_public_file(patch: Patch) -> None:
    """The guard, every edit exactly once, the result compiles and has the sha256 that the set says."""
    path = SOURCES / str(patch.file)
    result = patched(patch, str(path), path.read_bytes())
    assert hashlib.sha256(result).hexdigest() == patch.after
    with pytest.raises(RefusedError, match="the patch was written for"):
        patched(patch, str(path), result)


def test_what_could_not_be_proven_says_so() -> None:
    assert (DEEPSEEK[0].proven is not None, DEEPSEEK[0].unproven) == (True, None)
    assert "could not be had" in str(INKLING[0].unproven)
    assert [patch.wheel for patch in INKLING[0].patch if patch.wheel] == ["accelerate==1.14.0"]
    assert all(
        patch.gate and patch.reason and patch.ticket
        for patch_set, _hash in (DEEPSEEK, INKLING)
        for patch in patch_set.patch
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"sha256": "0" * 63}, "64 hex digits"),
        ({"file": "/etc/passwd", "edit": ({},)}, "below one of the roots"),
        ({"file": "a/../b", "edit": ({},)}, "below one of the roots"),
        ({"file": "a"}, "either file with edit, or wheel with url"),
        ({"wheel": "x==1"}, "either file with edit, or wheel with url"),
        ({"wheel": "x==1", "url": "u", "file": "a", "edit": ({},)}, "either file with edit, or wheel with url"),
    ],
)
def test_a_patch_is_one_thing(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Patch(**{"sha256": "0" * 64, "gate": "g", "reason": "r", "ticket": "t", **fields})  # type: ignore[arg-type]


def test_a_patch_set_says_what_it_was_proven_against() -> None:
    with pytest.raises(ValueError, match="proven"):
        PatchSet("tandem.patch-set/v1", "n", ("/r",), ())
    with pytest.raises(ValueError, match="absolute"):
        PatchSet("tandem.patch-set/v1", "n", ("r",), (), proven="x")


def test_a_set_that_is_not_there_is_named() -> None:
    found = RECIPES["deepseek-v4-flash-0731-tp2"]
    engine = found.recipe.engine
    assert engine.derived is not None
    other = type(engine.derived)(engine.derived.base, "no-such-set")
    recipe = type(found.recipe)(**{**vars(found.recipe), "engine": type(engine)(**{**vars(engine), "derived": other})})
    with pytest.raises(InputError, match="no-such-set"):
        read_patch_set(type(found)(recipe, found.file))


def test_only_pure_wheels() -> None:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x-1.data/scripts/run", "")
    patch = Patch(hashlib.sha256(buffer.getvalue()).hexdigest(), "g", "r", "t", wheel="x==1", url="u")
    with pytest.raises(RefusedError, match="only pure wheels"):
        wheel_files(patch, buffer.getvalue(), "/r")
