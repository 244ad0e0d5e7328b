"""The tokenizer's warning of a real transformers, its real correction, and ids compared by a real process beside the engine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine import token_ids
from ansible_collections.tandem.campaign.plugins.module_utils._engine.diagnosis import Warnings, warnings_in
from ansible_collections.tandem.campaign.plugins.module_utils._engine.process import ProcessRuntime
from ansible_collections.tandem.campaign.plugins.module_utils._engine.read_back import compare_warnings
from ansible_collections.tandem.campaign.plugins.module_utils._engine.token_proof import Proof, judge_token_ids, prove
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.signatures import own_signatures
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

#: As the library corrects it (transformers, _patch_mistral_regex).
CORRECTED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
OTHER = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
#: Below this many entries the library doesn't look at the pattern at all.
VOCABULARY = 100_001
WARNING = "The tokenizer you are loading from '/hf' with an incorrect regex pattern: set fix_mistral_regex=True"


def snapshot_with(folder: Path, pattern: str, entries: int = VOCABULARY) -> str:
    """A snapshot's tokenizer: bytes, a few merges, and names that fill the vocabulary."""
    folder.mkdir()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["The quick brown fox 12345"] * 3, trainer)
    document = json.loads(tokenizer.to_str())
    names = document["model"]["vocab"]
    names |= {f"filler{number}": number for number in range(len(names), entries)}
    (folder / "tokenizer.json").write_text(json.dumps(document))
    (folder / "config.json").write_text('{"model_type": "mistral", "transformers_version": "4.40.0"}')
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return str(folder)


def proven(snapshot: str, *caveats: str) -> tuple[Proof, str, str]:
    """The proof, and verdict and text of the read-back's row."""
    argv = (sys.executable, "-m", "vllm")
    plan = LaunchPlan("laguna", "vllm", "process", argv, {}, "laguna", snapshot, "127.0.0.1", 1, 1.0, 1.0, 64, 1, {})
    found = warnings_in(WARNING, own_signatures())
    proofs = prove(found.known, snapshot, lambda source, text: ProcessRuntime().run_python(plan, {}, source, text))
    (row,) = compare_warnings(caveats, found, proofs)
    return proofs["tokenizer-regex"], row.verdict, str(row)


def test_a_pattern_that_is_as_it_should_be_needs_no_caveat(tmp_path: Path) -> None:
    proof, verdict, _text = proven(snapshot_with(tmp_path / "hf", CORRECTED))
    assert (proof.verdict, verdict) == ("passed", "passed"), proof.reason
    assert proof.facts["ids_differ"] == proof.facts["splits_differ"] == 0
    assert proof.facts["texts"] == len(list(token_ids.texts())) > 50_000
    assert proof.facts["library"].startswith("transformers ")


def test_a_pattern_that_differs_shows_in_ids(tmp_path: Path) -> None:
    snapshot = snapshot_with(tmp_path / "hf", OTHER)
    proof, verdict, text = proven(snapshot)
    assert (proof.verdict, verdict) == ("failed", "inconclusive")
    assert "1 of 54280 texts have other token ids" in proof.reason
    assert proof.reason in text
    (example,) = proof.facts["examples"]
    assert "12345" in example["text"]
    assert example["as_loaded"] != example["corrected"]
    assert proven(snapshot, "tokenizer-regex-warning")[1] == "passed"


def test_a_library_that_corrects_nothing_proves_nothing(tmp_path: Path) -> None:
    proof, verdict, _text = proven(snapshot_with(tmp_path / "hf", CORRECTED, entries=400))
    assert (proof.verdict, verdict) == ("inconclusive", "inconclusive")
    assert "has no correction for this tokenizer" in proof.reason


def test_what_can_t_be_compared_says_why(tmp_path: Path) -> None:
    proof, verdict, _text = proven(str(tmp_path / "nothing"))
    assert (proof.verdict, verdict) == ("inconclusive", "inconclusive")
    assert proof.reason.startswith("token ids were not compared: ")


@pytest.mark.parametrize(
    "output",
    ["", "Traceback\n  no", "{broken", '{"library": "x"}', '{"texts": 0, "ids_differ": 0, "splits_differ": 0}'],
)
def test_an_answer_that_is_none(output: str) -> None:
    found = warnings_in(WARNING, own_signatures())
    proof = prove(found.known, "/hf", lambda _source, _text: output)["tokenizer-regex"]
    assert proof.verdict == "inconclusive"
    assert "were not compared" in proof.reason


def test_splits_alone_are_no_proof() -> None:
    facts: dict[str, Any] = {"texts": 10, "ids_differ": 0, "splits_differ": 3, "corrected": True}
    assert judge_token_ids(facts) == (
        "inconclusive", "3 of 10 texts are split in another way, though none has other token ids",
    )  # fmt: skip


def test_a_warning_for_which_there_is_no_proof_needs_its_caveat() -> None:
    found: Warnings = warnings_in("WARNING Using KV cache scaling factor 1.0 for fp8_e4m3", own_signatures())
    assert prove(found.known, "/hf", lambda _source, _text: "") == {}
    (row,) = compare_warnings((), found, {})
    assert (row.verdict, row.planned) == ("inconclusive", "a caveat fp8-kv-unscaled in the recipe")
