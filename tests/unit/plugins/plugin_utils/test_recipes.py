"""Recipes at the door: every mistake has one clear message with file, recipe and key."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import InputError
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import (
    COLLECTION_RECIPES,
    FoundRecipe,
    check_gates,
    read_lock,
    read_protocol,
    read_recipes,
    read_set,
    recipe_named,
    search_path,
)  # fmt: skip

DIGEST = "sha256:" + "e" * 64
GOOD = f"""
schema = "tandem.recipe-set/v1"
[[recipe]]
name = "one"
model = {{ repo = "a/b", revision = "{"a" * 40}", format = "safetensors" }}
engine = {{ kind = "vllm", version = "0.25.1", runtime = "docker", image = "vllm/vllm-openai@{DIGEST}" }}
args = [["--kv-cache-dtype", "fp8"]]
env = {{ VLLM_USE_V2_MODEL_RUNNER = "0" }}
[[recipe.profile]]
name = "off"
functional = {{ protocol = "functional/v1", required = ["known_answer"] }}
capacity = [{{ protocol = "capacity/v3", context_tokens = 1024 }}]
"""


def written(folder: Path, text: str, name: str = "set.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_good(tmp_path: Path) -> None:
    (recipe,) = read_set(written(tmp_path, GOOD)).recipe
    assert recipe.limits.max_requests == 1
    assert recipe.protocols() == ("functional/v1", "capacity/v3")


@pytest.mark.parametrize(
    "revision", ["main", "v1.0", "4f1c0de", "4F1C0DE" + "0" * 31 + "A1", "4f1c0de" + "0" * 31 + "a1 "]
)
def test_a_revision_is_a_full_commit_as_git_prints_it(tmp_path: Path, revision: str) -> None:
    """Case C8: what moves, is cut, or would need to be guessed at is refused with the field, the value and the rule."""
    text = GOOD.replace("a" * 40, revision)
    with pytest.raises(InputError) as caught:
        read_set(written(tmp_path, text))
    assert f"revision {revision!r} is not a full commit: 40 hex digits" in str(caught.value)
    (recipe,) = read_set(written(tmp_path, GOOD.replace("a" * 40, "4f1c0de" + "0" * 31 + "a1"))).recipe
    assert recipe.model.revision == "4f1c0de" + "0" * 31 + "a1"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "one"', 'name = "one"\nnotes = "x"', "recipe 'one'.notes: no such key"),
        ('revision = "' + "a" * 40, 'revision = "main', "revision 'main' is not a full commit: 40 hex digits"),
        ('revision = "' + "a" * 40, 'revision = "' + "a" * 12, "is not a full commit"),
        ('revision = "' + "a" * 40, 'revision = "' + "g" * 40, "is not a full commit"),
        (f"@{DIGEST}", ":v0.25.1", "is not pinned: repository@sha256:<64 hex> is needed, a tag moves"),
        ('"--kv-cache-dtype", "fp8"', '"--gpus", "device=0,1"', "--gpus names devices of a host"),
        (
            '"--kv-cache-dtype", "fp8"',
            '"--kv-cache-dtype fp8"',
            "is a flag and its value in one string; write ['--kv-cache-dtype', 'fp8']",
        ),
        (
            'VLLM_USE_V2_MODEL_RUNNER = "0"',
            'CUDA_VISIBLE_DEVICES = "GPU-1"',
            "env.CUDA_VISIBLE_DEVICES belongs to the contract",
        ),
        (
            'VLLM_USE_V2_MODEL_RUNNER = "0"',
            'CUDA_DEVICE_ORDER = "FASTEST_FIRST"',
            "env.CUDA_DEVICE_ORDER belongs to the contract",
        ),
        ('"--kv-cache-dtype", "fp8"', '"--port", "1"', "--port is written by the launch plan"),
        ('"--kv-cache-dtype", "fp8"', '"kv-cache-dtype", "fp8"', "each begins with its flag"),
        ('VLLM_USE_V2_MODEL_RUNNER = "0"', 'NCCL_P2P_DISABLE = "1"', "env.NCCL_P2P_DISABLE belongs to the contract"),
        (
            'VLLM_USE_V2_MODEL_RUNNER = "0"',
            'PYTORCH_CUDA_ALLOC_CONF = "max_split_size_mb:512,expandable_segments:True"',
            "env.PYTORCH_CUDA_ALLOC_CONF = 'max_split_size_mb:512,expandable_segments:True': only PyTorch's native allocator",
        ),
        (
            'VLLM_USE_V2_MODEL_RUNNER = "0"',
            'PYTORCH_ALLOC_CONF = "backend:cudaMallocAsync"',
            "no expandable_segments:True, no other backend",
        ),
        ('VLLM_USE_V2_MODEL_RUNNER = "0"', 'CUDA_VISIBLE_DEVICES = "0,1"', "belongs to the contract"),
        ('VLLM_USE_V2_MODEL_RUNNER = "0"', 'HF_TOKEN = "x"', "looks like a secret"),
        ('VLLM_USE_V2_MODEL_RUNNER = "0"', 'SGLANG_X = "1"', "is not among the variables known for vllm"),
        (
            'kind = "vllm"',
            'kind = "tgi"',
            "recipe 'one'.engine.kind: Input should be 'vllm', 'sglang' or 'llama_cpp' (it is 'tgi')",
        ),
        ('runtime = "docker"', 'runtime = "process"', "runtime process takes exactly one of lock, got image"),
        ("context_tokens = 1024", "context_tokens = 999999", "is beyond limits.context_tokens"),
        ('name = "off"', 'name = "off"\nreasoning = { mode = "effort" }', "effort None does not go with mode 'effort'"),
        (
            'format = "safetensors"',
            'format = "safetensors", quantization = "NVFP8"',
            "a label that no checkpoint declares",
        ),
        ('format = "safetensors"', 'format = "gguf"', "format gguf needs file"),
        ('name = "one"', 'name = "One Two"', "lower-case letters, digits"),
        ('name = "one"', 'name = "one"\nlimits = { max_requests = 4 }', "every lane admits one request at a time"),
        ("recipe-set/v1", "recipe-set/v2", "this version reads 'tandem.recipe-set/v1'"),
        ('model = { repo = "a/b", ', "model = { ", "recipe 'one'.model.repo: is missing"),
        ("[[recipe.profile]]", "[[recipe.profile", "Expected ']]'"),
    ],
)
def test_bad(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    file = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_set(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_an_allocator_setting_that_is_harmless(tmp_path: Path) -> None:
    """Case A5."""
    text = GOOD.replace('VLLM_USE_V2_MODEL_RUNNER = "0"', 'PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:False"', 1)
    assert read_set(written(tmp_path, text))


def test_a_name_that_stands_twice(tmp_path: Path) -> None:
    written(tmp_path, GOOD, "a.toml")
    written(tmp_path, GOOD, "b.toml")
    with pytest.raises(InputError, match=r"b.toml: recipe 'one' already stands in .*a.toml"):
        read_recipes([tmp_path])


def test_an_unknown_name_lists_what_there_is(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    with pytest.raises(InputError, match=r"no recipe 'two' in .* \(there are: one\)"):
        recipe_named("two", read_recipes([tmp_path]), [tmp_path])


def test_search_order(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "inventory" / "recipes").mkdir(parents=True)
    found = search_path([str(tmp_path / "mine")], str(tmp_path / "inventory"))
    assert found == [tmp_path / "mine", tmp_path / "inventory" / "recipes", COLLECTION_RECIPES]
    with pytest.raises(InputError, match=r"campaign_recipe_paths: .*nowhere is no folder"):
        search_path([str(tmp_path / "nowhere")], None)


def test_a_check_that_the_protocol_does_not_have(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace('"known_answer"', '"known_answers"'))
    protocol = read_protocol("functional/v1")
    assert protocol is not None
    with pytest.raises(InputError, match="functional/v1 has no check 'known_answers'"):
        check_gates(FoundRecipe(read_set(file).recipe[0], file), {"functional/v1": protocol})


def test_protocols_of_this_version() -> None:
    assert read_protocol("quality/v9") is None
    protocol = read_protocol("capacity/v4-reasoning")
    assert protocol is not None
    assert protocol.document["generation_starts_at"] == "first_output"


def test_locks() -> None:
    demo = read_recipes([COLLECTION_RECIPES])["smollm2-135m-instruct-q4"]
    pins, sha256 = read_lock(demo)
    assert list(pins) == ["xllamacpp"]
    assert len(sha256) == 64


class TestSeedCandidates:
    """The five candidates of the published campaign, as the issue names them."""

    recipes: ClassVar = {
        recipe.name: recipe for recipe in read_set(COLLECTION_RECIPES / "dual-rtx-pro-6000-tp2.toml").recipe
    }

    def test_pins(self) -> None:
        assert {name: recipe.model.revision for name, recipe in self.recipes.items()} == {
            "qwen35-122b-a10b-nvfp4-tp2": "98915d837c4e7c87ac8296d02e89de19b3207e6d",
            "nemotron3-super-120b-a12b-nvfp4-tp2": "4f0cf9daaeb7a4d5e23f80a00e7ed15f0e03caf6",
            "laguna-s-2.1-nvfp4-tp2": "07614121b31898586430f189d27a25a0be310843",
            "deepseek-v4-flash-0731-tp2": "7872f01b1d1fe23eabc4c98b48bffcef5a386062",
            "inkling-small-nvfp4-tp2": "b6a99534467840620d411e4cd4ad5819b2610d9c",
        }

    def test_served_contexts(self) -> None:
        assert [recipe.limits.context_tokens for recipe in self.recipes.values()] == [
            262144,
            65536,
            262144,
            32768,
            32768,
        ]

    def test_no_custom_all_reduce_and_no_contract_variable(self) -> None:
        for recipe in self.recipes.values():
            assert ("--disable-custom-all-reduce",) in recipe.args, recipe.name
            assert not {"NCCL_P2P_DISABLE", "NCCL_CUMEM_ENABLE", "CUDA_VISIBLE_DEVICES"} & set(recipe.env)
            assert recipe.speculative == "off"
            assert recipe.needs.roles == 2

    def test_derived_images_keep_the_published_digest_as_provenance(self) -> None:
        for name in ("deepseek-v4-flash-0731-tp2", "inkling-small-nvfp4-tp2"):
            derived = self.recipes[name].engine.derived
            assert derived is not None
            assert derived.published_digest is not None
            assert derived.published_digest not in derived.base

    def test_profiles_and_budgets(self) -> None:
        inkling = {profile.name: profile for profile in self.recipes["inkling-small-nvfp4-tp2"].profile}
        assert (inkling["off"].reasoning.mode, inkling["low"].reasoning.effort) == ("off", "low")
        (deepseek,) = self.recipes["deepseek-v4-flash-0731-tp2"].profile
        assert deepseek.quality is not None
        assert (deepseek.quality.visible_tokens, deepseek.quality.reasoning_tokens) == (512, 4096)
        budgets = {
            lane.max_tokens
            for recipe in self.recipes.values()
            for profile in recipe.profile
            for lane in profile.capacity
            if lane.context_tokens == 32768
        }
        assert budgets == {256, 1024, 2048}
        long = [
            lane
            for recipe in self.recipes.values()
            for profile in recipe.profile
            for lane in profile.capacity
            if lane.context_tokens != 32768
        ]
        assert [(lane.context_tokens, lane.requests) for lane in long] == [(131072, 4), (60000, 4), (240000, 4)]
