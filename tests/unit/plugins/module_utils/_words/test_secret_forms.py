"""Secrets by their form: what is one is replaced, what is only named alike stays."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import InputError
from ansible_collections.tandem.campaign.plugins.module_utils._words.secret_forms import (
    SECRET_ARGUMENT,
    SECRET_NAME,
    without_secrets,
)

TOKEN = "hf_SyntheticTokenEEEE8888"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"token {TOKEN}.", "token <hf-token>."),
        ("{'api_key': ['key-SYNTHETIC-2222'], 'x': 1}", "{'api_key': ['<secret>'], 'x': 1}"),
        ('{"HF_TOKEN": "some-thing-else"}', '{"HF_TOKEN": "<secret>"}'),
        ("serve --api-key key-SYNTHETIC-2222 --port 1", "serve --api-key <secret> --port 1"),
        ("http://me:hidden@10.0.0.1/x", "http://me:<password>@10.0.0.1/x"),
        ("the key is literal-SYNTHETIC", "the key is <key>"),
    ],
)
def test_a_secret_is_replaced(text: str, told: str) -> None:
    assert without_secrets(text, ["literal-SYNTHETIC"]) == told


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens 2048, tokenizer example-org/tiny-moe-nvfp4",
        '{"max_tokens": 2048, "eos_token": "<|im_end|>", "joules_per_output_token": 0.123456789, "next_token": null}',
        "https://github.com/vllm-project/vllm",
        "a short literal stays: abc",
    ],
)
def test_what_is_only_named_alike_stays(text: str) -> None:
    assert without_secrets(text, ["abc"]) == text


def test_no_error_repeats_one() -> None:
    assert str(InputError(f"env: {TOKEN} is no number")) == "env: <hf-token> is no number"


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "VLLM_API_KEY", "TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"]
)
def test_names_of_secrets(name: str) -> None:
    assert SECRET_NAME.search(name)


@pytest.mark.parametrize(
    "name", ["SGLANG_INIT_NEW_TOKEN_RATIO", "VLLM_MAX_NUM_BATCHED_TOKENS", "SGLANG_TOKENIZER_MODE", "SGL_KEY_SIZE"]
)
def test_names_that_only_look_so(name: str) -> None:
    assert not SECRET_NAME.search(name)


def test_arguments() -> None:
    assert all(map(SECRET_ARGUMENT.search, ("--api-key", "--hf-token=x", "--control-plane-api-keys")))
    assert not any(map(SECRET_ARGUMENT.search, ("--max-tokens", "--tokenizer", "--tokenizer-mode=slow")))
