"""Labels follow from what the checkpoint declares. Forms as the named repositories' configurations have them (public model pages, 2026-08-01)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.quantization import (
    declared_quantization,
    label_problem,
)

QWEN = {
    "config.json": {
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}
    }
}
MIXED = {
    "config.json": {
        "quantization_config": {
            "quant_method": "modelopt",
            "quant_algo": "MIXED_PRECISION",
            "quantized_layers": {"a": {"quant_algo": "NVFP4"}, "b": {"quant_algo": "FP8"}},
        }
    }
}
LAGUNA = {
    "config.json": {
        "quantization_config": {
            "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        }
    }
}  # fmt: skip
DEEPSEEK = {
    "config.json": {"expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8", "scale_fmt": "ue8m0"}}
}
INKLING = {
    "config.json": {"torch_dtype": "bfloat16"},
    "hf_quant_config.json": {
        "modelopt_quant_config": {
            "quant_cfg": {"*weight_quantizer": {"num_bits": [2, 1], "block_sizes": {"scale_bits": [4, 3]}}}
        }
    },
}
OLDER = {
    "config.json": {},
    "hf_quant_config.json": {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}},
}
GROUPS = {
    "config.json": {
        "quantization_config": {
            "quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}, "group_1": {"weights": {"num_bits": 8, "type": "float"}}},
        }
    }
}  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "method", "formats", "kv"),
    [
        (QWEN, "modelopt", ("NVFP4",), "FP8"),
        (MIXED, "modelopt", ("FP8", "NVFP4"), None),
        (LAGUNA, "compressed-tensors", ("NVFP4",), "FP8"),
        (DEEPSEEK, None, ("FP4", "FP8"), None),
        (INKLING, "modelopt", ("NVFP4",), None),
        (OLDER, "modelopt", ("NVFP4",), "FP8"),
        (GROUPS, "compressed-tensors", ("INT4", "FP8"), None),
        ({"config.json": {"quantization_config": {"quant_method": "awq", "bits": 4}}}, "awq", ("INT4",), None),
        ({"config.json": {"quantization_config": {"quant_method": "mxfp4"}}}, None, ("MXFP4",), None),
        ({"config.json": {"text_config": {"torch_dtype": "torch.bfloat16"}}}, None, ("BF16",), None),
        ({"config.json": {}}, None, (), None),
        ({}, None, (), None),
        ({"config.json": [], "hf_quant_config.json": "x"}, None, (), None),
    ],
)
def test_what_is_declared(
    documents: dict[str, Any], method: str | None, formats: tuple[str, ...], kv: str | None
) -> None:
    found = declared_quantization(documents)
    assert (found.formats, found.kv) == (formats, kv)
    assert found.method == method or not found.formats


@pytest.mark.parametrize(
    ("label", "documents"),
    [
        ("ModelOpt NVFP4", QWEN), ("compressed-tensors NVFP4", LAGUNA), ("FP4 experts, FP8", DEEPSEEK), ("ModelOpt NVFP4", INKLING),
        ("nvfp4", QWEN), (None, QWEN), ("anything", {}), ("NVFP4, KV FP8", QWEN), ("our own mix", QWEN),
    ],
)  # fmt: skip
def test_labels_that_follow(label: str | None, documents: dict[str, Any]) -> None:
    assert label_problem(label, declared_quantization(documents)) is None


@pytest.mark.parametrize(
    ("label", "documents", "says"),
    [
        ("NVFP8", DEEPSEEK, "quantization 'NVFP8': the checkpoint declares FP4, FP8 (config.json)"),
        ("NVFP4", DEEPSEEK, "declares FP4, FP8"),
        ("compressed-tensors NVFP4", QWEN, "declares modelopt NVFP4, KV FP8"),
        ("ModelOpt FP8", LAGUNA, "declares compressed-tensors NVFP4"),
        ("NVFP4", {"config.json": {"torch_dtype": "bfloat16"}}, "declares BF16"),
    ],
)
def test_labels_that_do_not(label: str, documents: dict[str, Any], says: str) -> None:
    assert says in str(label_problem(label, declared_quantization(documents)))
