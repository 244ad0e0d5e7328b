"""The estimate against the published campaign's figures. Tensor bytes and layers: public configurations and headers, as listed on 2026-08-01."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.architecture import Architecture, architecture_of
from ansible_collections.tandem.campaign.plugins.module_utils._host.fit import GIB, Fit, estimate_fit
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import read_recipes, search_path

RECIPES = {name: found.recipe for name, found in read_recipes(search_path([], None)).items()}
CARD_MIB = 97887
DELTA_TYPES, WINDOW_TYPES = ([f"{kind}_attention"] * 3 + ["full_attention"] for kind in ("linear", "sliding"))
QWEN = Architecture(full_layers=12, kv_heads=2, head_dim=256, state_elements=0)
NEMOTRON = Architecture(full_layers=8, kv_heads=2, head_dim=128, state_elements=40 * 128 * 64 * 128)
LAGUNA = Architecture(full_layers=12, window_layers=36, window=512, kv_heads=8, head_dim=128)
INKLING = Architecture(full_layers=7, window_layers=35, window=512, kv_heads=8, head_dim=128)


def fit(name: str, weight_bytes: float, architecture: Architecture | None, cards: int = 2, **changes: Any) -> Fit:
    recipe: Recipe = replace(RECIPES[name], **changes)
    checkpoint = {"weight_bytes": weight_bytes, "kv": None, "architecture": to_document(architecture)}
    return estimate_fit(recipe, checkpoint, [CARD_MIB] * cards, cards)


@pytest.mark.parametrize(
    ("name", "weight_bytes", "architecture", "cache", "share"),
    [
        # 12,288 elements a token, 262,144 tokens in 16 bits: 6 GiB, 3 a rank
        ("qwen35-122b-a10b-nvfp4-tp2", 73.2 * GIB, QWEN, 3.0, 86.03),
        # 4,096 elements a token in 8 bits, 65,536 tokens: 256 MiB, 128 a rank
        ("nemotron3-super-120b-a12b-nvfp4-tp2", 80_297_329_824, NEMOTRON, 0.125, 86.03),
        # 24 KiB a token, 262,144 tokens: 6 GiB and 36 MiB for the windows
        ("laguna-s-2.1-nvfp4-tp2", 71e9, LAGUNA, 3.0 + 0.0176, 86.03),
        # 28 KiB a token, 32,768 tokens: 896 MiB, and 70 for the windows
        ("inkling-small-nvfp4-tp2", 170_733_074_592, INKLING, (896 + 70) / 2 / 1024, 92.25),
    ],
)
def test_the_candidates_fit(
    name: str, weight_bytes: float, architecture: Architecture, cache: float, share: float
) -> None:
    found = fit(name, weight_bytes, architecture)
    assert (found.verdict, found.refused) == ("fits", False)
    assert found.cache == pytest.approx(cache, rel=0.01)
    assert found.share == pytest.approx(share, abs=0.01)


def test_inkling_s_weights_a_rank_as_measured() -> None:
    """85.93 and 86.90 GiB in the published campaign."""
    found = fit("inkling-small-nvfp4-tp2", 170_733_074_592, INKLING)
    assert found.weights == pytest.approx(86.41, abs=0.1)
    assert found.margin is not None
    assert 4 < found.margin < 6


def test_deepseek_fits_by_its_latent_cache_which_no_rank_shares() -> None:
    latent = Architecture(full_layers=43, latent=64)
    one, two = (fit("deepseek-v4-flash-0731-tp2", 166_878_536_440, latent, cards) for cards in (1, 2))
    assert two.verdict == "fits"
    assert two.weights == pytest.approx(84.5, abs=0.1)
    assert one.refused
    assert two.cache == pytest.approx(43 * 64 * 32768 / GIB, rel=0.01)


def test_the_266b_fp8_inkling_is_refused_by_arithmetic() -> None:
    found = fit("inkling-small-nvfp4-tp2", 266e9, None)
    assert (found.verdict, found.refused) == ("does not fit", True)
    assert found.reason == "the weights alone have 247.7 GiB, the 2 roles have 191.2 GiB together"


def test_beyond_the_share_is_advice_and_no_refusal() -> None:
    found = fit("qwen35-122b-a10b-nvfp4-tp2", 165e9, QWEN)
    assert (found.verdict, found.refused) == ("does not fit", False)
    assert "short by" in found.reason


def test_what_is_unknown_says_so() -> None:
    recipe = RECIPES["qwen35-122b-a10b-nvfp4-tp2"]
    split = estimate_fit(recipe, {"weight_bytes": 70 * GIB, "architecture": to_document(QWEN)}, [CARD_MIB] * 2, 1)
    assert (split.verdict, split.margin) == ("unknown", None)
    assert "over 2 roles without as many tensor parallel ranks" in split.reason
    assert fit("qwen35-122b-a10b-nvfp4-tp2", 73.2 * GIB, None).verdict == "unknown"
    assert "no --mem-fraction-static" in fit("inkling-small-nvfp4-tp2", 1e9, INKLING, args=()).reason
    recipe = RECIPES["qwen35-122b-a10b-nvfp4-tp2"]
    assert estimate_fit(recipe, None, [CARD_MIB], 1).reason == "the snapshot's weights are not known"
    assert "memory of the roles' devices" in estimate_fit(recipe, {"weight_bytes": 1}, [None, CARD_MIB], 2).reason


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (
            {"text_config": {"num_hidden_layers": 48, "num_key_value_heads": 2, "head_dim": 256, "layer_types": DELTA_TYPES * 12}},
            Architecture(12, 0, 0, 2, 256),
        ),
        (
            {
                "num_hidden_layers": 88, "num_key_value_heads": 2, "head_dim": 128, "hybrid_override_pattern": "M-" * 36 + "M*" * 4 + "*" * 4 + "-" * 4,
                "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128,
            },
            Architecture(8, 0, 0, 2, 128, 0, 40 * 128 * 64 * 128),
        ),
        (
            {"num_hidden_layers": 48, "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 512, "layer_types": WINDOW_TYPES * 12},
            Architecture(12, 36, 512, 8, 128),
        ),
        ({"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_attention_heads": 128}, Architecture(61, 0, 0, 128, 0, 576)),
        ({"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576}, Architecture(30, 0, 0, 3, 64)),
        ({"num_hidden_layers": 48, "num_key_value_heads": 4, "head_dim": 128, "full_attention_interval": 4}, Architecture(12, 0, 0, 4, 128)),
        ({}, None), ([], None), ({"num_hidden_layers": "x"}, None), ({"num_hidden_layers": 3}, None),
    ],
)  # fmt: skip
def test_architectures(config: Any, wanted: Architecture | None) -> None:
    assert architecture_of(config) == wanted
