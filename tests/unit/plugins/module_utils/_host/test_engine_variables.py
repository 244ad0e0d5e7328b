"""Variables without a reader are told, by engine and version."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.tandem.campaign.plugins.module_utils._host.engine_variables import unread_variables
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import read_recipes, search_path

RECIPES = {name: found.recipe for name, found in read_recipes(search_path([], None)).items()}


def test_by_engine_and_version() -> None:
    nemotron = RECIPES["nemotron3-super-120b-a12b-nvfp4-tp2"]
    assert unread_variables(nemotron) == ["VLLM_WSL2_ENABLE_PIN_MEMORY"]
    newer = replace(nemotron, engine=replace(nemotron.engine, version="0.25.1"))
    assert unread_variables(newer) == [
        "VLLM_FLASHINFER_MOE_BACKEND",
        "VLLM_USE_FLASHINFER_MOE_FP4",
        "VLLM_USE_FLASHINFER_MOE_FP8",
    ]
    assert unread_variables(replace(nemotron, engine=replace(nemotron.engine, version="9"))) == []
    assert unread_variables(RECIPES["inkling-small-nvfp4-tp2"]) == []
