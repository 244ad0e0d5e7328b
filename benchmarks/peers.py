"""Other load generators against the same played engine, where they are installed: PEERS=1 make bench-gates.

AIPerf (Apache-2.0, pip install aiperf) is found on PATH or by AIPERF=/path/to/aiperf. Its "time to first token" is the first output of any kind,
its "time to first output token" the first visible one. Its prompts are of its own making; the engine's times don't depend on them.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: A tokenizer that needs no network, made with the peer's own libraries.
TOKENIZER = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
made = Tokenizer(models.BPE())
made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
made.train_from_iterator(["the red truck brought boxes of paper "] * 20, trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, special_tokens=["<s>"]))
PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="<s>").save_pretrained(sys.argv[1])
"""
MS = 1e-3


def aiperf() -> Path | None:
    found = os.environ.get("AIPERF") or shutil.which("aiperf")
    return Path(found) if found else None


def run_aiperf(
    program: Path, folder: Path, url: str, requests: int, prompt_tokens: int, answer_tokens: int
) -> tuple[list[dict[str, Any]], float, float]:
    """(its records, wall in s, CPU in s of all its processes)."""
    tokenizer, out = folder / "tokenizer", folder / "aiperf"
    subprocess.run([str(program.parent / "python"), "-c", TOKENIZER, str(tokenizer)], check=True, capture_output=True)
    options: dict[str, object] = {
        "--endpoint-type": "chat", "-u": url, "--concurrency": 1, "--request-count": requests, "--isl": prompt_tokens, "--osl": answer_tokens,
        "--num-prompts": requests, "--tokenizer": tokenizer, "--output-artifact-dir": out, "--ui-type": "none", "--workers-max": 1, "--export-level": "records",
    }  # fmt: skip
    command = [
        str(program),
        "profile",
        "-m",
        "played",
        "--streaming",
        "--no-gpu-telemetry",
        "--no-server-metrics",
        "--use-server-token-count",
    ]
    command += [str(word) for pair in options.items() for word in pair]
    began = time.monotonic()
    with (folder / "aiperf.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    if process.returncode:
        raise SystemExit(f"aiperf ended with {process.returncode}: {(folder / 'aiperf.log').read_text()[-2000:]}")
    records = [json.loads(line) for line in (out / "profile_export.jsonl").read_text().splitlines()]
    kept = sorted(
        (record for record in records if record["metadata"]["benchmark_phase"] == "profiling"),
        key=lambda record: int(record["metadata"]["request_start_ns"]),
    )
    return kept, wall, usage.ru_utime + usage.ru_stime


def errors(records: Sequence[Mapping[str, Any]], truth: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Median absolute errors in seconds, of the same three moments that ours are held to."""
    found: dict[str, list[float]] = {"first_output": [], "first_visible": [], "inter_token": []}
    for record, true in zip(records, truth, strict=True):
        told = {name: metric["value"] for name, metric in record["metrics"].items()}
        gap = (true["last_output_ns"] - true["first_output_ns"]) / 1e9 / (true["completion_tokens"] - 1)
        found["first_output"].append(abs(told["time_to_first_token"] * MS - true["first_output_ns"] / 1e9))
        found["first_visible"].append(abs(told["time_to_first_output_token"] * MS - true["first_visible_ns"] / 1e9))
        found["inter_token"].append(abs(told["inter_token_latency"] * MS - gap))
    return {name: statistics.median(values) for name, values in found.items()}


def side_by_side(ours: Mapping[str, float], theirs: Mapping[str, float]) -> None:
    """A line a figure: ours, the peer's, and the ratio of the two."""
    print(f"\n{'AIPerf, the same run':<40} {'ours':>12} {'AIPerf':>12} {'ratio':>8}")
    for name, scale, unit in (
        ("first_output", 1e3, "ms"), ("first_visible", 1e3, "ms"), ("inter_token", 1e6, "us"), ("own", 1.0, "s"), ("cpu", 1.0, "s"),
    ):  # fmt: skip
        label = {"own": "wall less the engine's time", "cpu": "CPU"}.get(
            name, f"{name.replace('_', ' ')}, median error"
        )
        print(
            f"{label:<40} {ours[name] * scale:>9.3f} {unit} {theirs[name] * scale:>9.3f} {unit} {ours[name] / theirs[name]:>8.3f}"
        )
