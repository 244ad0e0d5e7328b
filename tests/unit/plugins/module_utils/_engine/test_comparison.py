"""Planned beside what the engine tells: equal, different, not told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._engine.comparison import compare_facts
from ansible_collections.tandem.campaign.plugins.module_utils._engine.expects import expected_settings
from ansible_collections.tandem.campaign.plugins.module_utils._engine.facts import LiveFacts, Rank
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_recipes

RECIPES = read_recipes([COLLECTION_RECIPES])
RANKS = (Rank(0, 85.93, 3.14), Rank(1, 86.9, 3.14))
SETTINGS = {
    "tensor_parallel": "2", "expert_parallel": "1", "moe_backend": "marlin", "attention_backend": "triton", "gemm_backend": "marlin",
    "kv_cache_dtype": "bfloat16",
}  # fmt: skip
INKLING = LiveFacts("0.5.16", 32768, 1, "/s/x", "off", SETTINGS, RANKS)


def plan(name: str) -> LaunchPlan:
    recipe = RECIPES[name].recipe
    return LaunchPlan(
        name, recipe.engine.kind, "docker", ("x",), {}, name, "/s", "127.0.0.1", 1, 1.0, 1.0, recipe.limits.context_tokens, 1, {},
        expects=expected_settings(recipe), excludes=recipe.excludes,
    )  # fmt: skip


def verdicts(name: str, facts: LiveFacts) -> dict[str, str]:
    return {row.name: row.verdict for row in compare_facts(plan(name), facts) if row.verdict != "passed"}


def changed(**settings: Any) -> LiveFacts:
    return replace(INKLING, settings={name: value for name, value in {**SETTINGS, **settings}.items() if value})


def test_what_the_seed_recipes_ask_for() -> None:
    assert expected_settings(RECIPES["inkling-small-nvfp4-tp2"].recipe) == {
        "tensor_parallel": "2", "expert_parallel": "1", "moe_backend": "marlin", "attention_backend": "triton", "gemm_backend": "marlin",
    }  # fmt: skip
    nemotron = expected_settings(RECIPES["nemotron3-super-120b-a12b-nvfp4-tp2"].recipe)
    assert nemotron == {"tensor_parallel": "2", "expert_parallel": "on", "kv_cache_dtype": "fp8_e4m3"}
    assert expected_settings(RECIPES["qwen35-122b-a10b-nvfp4-tp2"].recipe)["kv_cache_dtype"] == "bfloat16"


def test_all_as_planned() -> None:
    assert verdicts("inkling-small-nvfp4-tp2", INKLING) == {}


def test_an_excluded_backend_fails_whatever_it_is_called() -> None:
    found = verdicts("inkling-small-nvfp4-tp2", changed(moe_backend="flashinfer_cutlass"))
    assert found == {"moe_backend": "failed", "moe_backend is not cutlass": "failed"}


def test_an_excluded_backend_that_is_not_told_is_not_ruled_out() -> None:
    found = verdicts("inkling-small-nvfp4-tp2", changed(gemm_backend=None))
    assert found == {"gemm_backend": "inconclusive", "gemm_backend is not cutlass": "inconclusive"}


def test_every_declared_rank_has_to_appear() -> None:
    assert verdicts("inkling-small-nvfp4-tp2", replace(INKLING, ranks=RANKS[:1])) == {"ranks with weights": "failed"}
    assert verdicts("inkling-small-nvfp4-tp2", replace(INKLING, ranks=())) == {"ranks with weights": "inconclusive"}


def test_limits_and_speculation() -> None:
    other = replace(INKLING, context_tokens=16384, max_requests=8, speculative="EAGLE", model_path="/elsewhere")
    wanted = dict.fromkeys(("context_tokens", "max_requests", "speculative", "model path"), "failed")
    assert verdicts("inkling-small-nvfp4-tp2", other) == wanted
    silent = LiveFacts(None, None, None, None, None, SETTINGS, RANKS)
    assert verdicts("inkling-small-nvfp4-tp2", silent) == dict.fromkeys(wanted, "inconclusive")
    assert verdicts("inkling-small-nvfp4-tp2", replace(INKLING, context_tokens=40960)) == {}
