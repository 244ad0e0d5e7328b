"""GGUF: whole, whole in all its parts, and what its header says of its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.quantization import (
    Quantization,
    declared_quantization,
    label_problem,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import from_document
from ansible_collections.tandem.campaign.tests.fakes.cache import blob, gguf, problem_of, verify, write_tree

Q4_0, NEW = 2, 77
LLAMA: dict[str, Any] = {
    "general__architecture": "llama", "llama__block_count": 30, "llama__embedding_length": 576,
    "llama__attention__head_count": 9, "llama__attention__head_count_kv": 3, "general__file_type": 2,
}  # fmt: skip


def test_gguf(tmp_path: Path) -> None:
    file = blob(tmp_path, "w.gguf", gguf())
    assert verify(tmp_path, file="w.gguf").problems == ()
    file.write_bytes(gguf()[:-8])
    assert "tensor table needs" in problem_of(verify(tmp_path, "structure", file="w.gguf")).found


def test_a_gguf_that_is_none(tmp_path: Path) -> None:
    blob(tmp_path, "w.gguf", b"GGML" + bytes(100))
    assert "magic" in problem_of(verify(tmp_path, "structure", file="w.gguf")).found


def test_a_split_gguf_needs_all_its_parts(tmp_path: Path) -> None:
    for number in (1, 3):
        blob(tmp_path, f"w-0000{number}-of-00003.gguf", gguf(64 * number))
    write_tree(tmp_path, other__gguf=7)
    report = verify(tmp_path, file="w-00001-of-00003.gguf")
    assert problem_of(report).file == "w-00002-of-00003.gguf"
    assert "other.gguf" in report.notes[0]


def checkpoint(hub: Path, *parts: bytes) -> dict[str, Any]:
    """What the proof says of the weights."""
    names = [f"w-{number:05d}-of-{len(parts):05d}.gguf" for number in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        blob(hub, name, part)
    blob(hub, "projector.gguf", gguf(7, general__file_type=0))
    report = verify(hub, "structure", file=names[0])
    assert report.problems == ()
    assert report.checkpoint is not None
    return dict(report.checkpoint)


def test_what_the_header_says_of_the_weights(tmp_path: Path) -> None:
    """Another GGUF beside the recipe's (a projector, another quantization) doesn't count."""
    found = checkpoint(tmp_path, gguf(tensors={Q4_0: 3200, 0: 100}, **LLAMA), gguf(tensors={Q4_0: 640}))
    assert found["weight_bytes"] == 3200 // 32 * 18 + 400 + 640 // 32 * 18
    assert found["quantization"]["formats"] == ["Q4_0"]
    layers = found["architecture"]
    assert (layers["full_layers"], layers["kv_heads"], layers["head_dim"]) == (30, 3, 64)


def test_a_type_that_is_new(tmp_path: Path) -> None:
    found = checkpoint(tmp_path, gguf(tensors={NEW: 3200}, general__file_type=99))
    assert (found["weight_bytes"], found["quantization"]["formats"]) == (None, ["type 77"])


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"llama__attention__head_count_kv": [3] * 30}, (30, 3)),
        ({"llama__attention__head_count_kv": [3, 0] * 15}, None),
        ({"llama__attention__sliding_window": 4096}, None),
        ({"llama__ssm__state_size": 128}, None),
        ({"general__architecture": "other"}, None),
    ],
)
def test_layers_that_are_told_and_that_are_not(tmp_path: Path, change: dict[str, Any], wanted: Any) -> None:
    layers = checkpoint(tmp_path, gguf(**{**LLAMA, **change}))["architecture"]
    assert (layers and (layers["full_layers"], layers["kv_heads"])) == wanted


def test_latent_attention(tmp_path: Path) -> None:
    latent: dict[str, Any] = {"llama__attention__kv_lora_rank": 512, "llama__rope__dimension_count": 64}
    assert checkpoint(tmp_path, gguf(**LLAMA, **latent))["architecture"]["latent"] == 576


@pytest.mark.parametrize(
    ("label", "file_type", "agrees"),
    [
        ("Q4_0", 2, True),
        ("Q4_0", 7, True),
        ("Q8_0", 7, False),
        ("q4_0 gguf", 2, True),
        ("Q4_K_M", 2, False),
        ("F32", 2, True),
    ],
)
def test_a_label_has_to_follow_from_the_tensors(tmp_path: Path, label: str, file_type: int, agrees: bool) -> None:
    """A file type without a tensor of it is a name like any other. F32 is no label of a quantization."""
    document = gguf(tensors={Q4_0: 3200, 0: 50}, **{**LLAMA, "general__file_type": file_type})
    declared = from_document(Quantization, checkpoint(tmp_path, document)["quantization"])
    problem = label_problem(label, declared)
    assert (problem is None) == agrees
    if problem:
        assert "the checkpoint declares Q4_0 (w-00001-of-00001.gguf)" in problem


def test_an_extra_large_mix_is_its_type() -> None:
    """llama.cpp has no file type for these; the publisher's name says that some tensors are kept larger."""
    declared = Quantization(None, ("Q4_K_M", "Q4_K"), None, ())
    assert label_problem("UD-Q4_K_XL", declared) is None
    assert label_problem("Q5_K_XL", declared) is not None
    assert label_problem("Q4_K_S", declared) is not None
    assert declared_quantization({}).formats == ()


@pytest.mark.parametrize(("alignment", "says"), [(0, "0 is not plausible"), ("x", "'x' is not plausible")])
def test_an_alignment_that_is_none(tmp_path: Path, alignment: Any, says: str) -> None:
    blob(tmp_path, "w.gguf", gguf(general__alignment=alignment))
    assert says in problem_of(verify(tmp_path, "structure", file="w.gguf")).found
