# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM's startup log. Pure. Shapes: vLLM 0.25.1 (source, and a log of two ranks on real cards); 0.22.1 writes the same ones.

Lines come behind prefixes (``(Worker_TP1 pid=…)``) and two of them may share a line, so nothing is anchored at a line's start.
"""

from __future__ import annotations

import re
from dataclasses import replace

from .facts import Rank

VERSION = re.compile(r"Initializing a V1 LLM engine \(v([^)\s]+)\)")
CONFIG = re.compile(r"Initializing a V1 LLM engine .*")
ARGUMENTS = re.compile(r"non-default args: (\{.*\})")
#: A rank's own prefix; without tensor parallelism the one worker has none.
RANKED = r"(?:\(Worker(?:_TP(?P<rank>\d+))?(?:_EP\d+)? pid=\d+\)[^\n]*?)?"
WEIGHTS = re.compile(RANKED + r"Model loading took (?P<gib>[\d.]+) GiB")
KV = re.compile(RANKED + r"Available KV cache memory: (?P<gib>[\d.]+) GiB")
GRAPHS = re.compile(RANKED + r"Graph capturing finished in (?P<s>[\d.]+) secs, took (?P<gib>[\d.]+) GiB")
KV_TOKENS = re.compile(r"GPU KV cache size: ([\d,]+) tokens")
BACKEND_LINES = {
    "attention_backend": re.compile(r"Using (\S+) attention backend"),
    "moe_backend": re.compile(r"Using '?([\w .-]+?)'?(?: \w+)? (?:MoE|MOE) backend"),
    "gemm_backend": re.compile(r"Using (\S+) for \w+ GEMM"),
}


def settings_of(log: str) -> dict[str, str]:
    """Effective settings by the names of :mod:`.expects`; absent where the log doesn't tell."""
    found: dict[str, str] = {}
    config, arguments = CONFIG.search(log), ARGUMENTS.search(log)
    if config:
        found["tensor_parallel"] = _value(config[0], "tensor_parallel_size")
        kind = _value(config[0], "kv_cache_dtype")
        # auto: keys and values have the model's own type.
        found["kv_cache_dtype"] = _value(config[0], "dtype") if kind == "auto" else kind
    if arguments:
        found["expert_parallel"] = "on" if "'enable_expert_parallel': True" in arguments[1] else "off"
    for name, pattern in BACKEND_LINES.items():
        names = sorted(set(pattern.findall(log)))
        if names:
            found[name] = ", ".join(names)
    return {name: value for name, value in found.items() if value}


def max_requests_of(log: str) -> int | None:
    arguments = ARGUMENTS.search(log)
    found = re.search(r"'max_num_seqs': (\d+)", arguments[1]) if arguments else None
    return int(found[1]) if found else None


def speculative_of(log: str) -> str | None:
    """``off``, the configuration's own words, or None where the log doesn't tell."""
    config = CONFIG.search(log)
    found = re.search(r"speculative_config=(None|\w+\([^)]*\)?|[^,]+)", config[0]) if config else None
    return None if found is None else ("off" if found[1] == "None" else found[1])


def ranks_of(log: str) -> tuple[Rank, ...]:
    """Weights, KV cache and graphs by rank. Only the first rank writes its KV cache."""
    ranks: dict[int, Rank] = {}

    def known(match: re.Match[str]) -> Rank:
        number = int(match["rank"] or 0)
        return ranks.get(number, Rank(number))

    for match in WEIGHTS.finditer(log):
        ranks[known(match).rank] = replace(known(match), weights_gib=float(match["gib"]))
    for match in KV.finditer(log):
        ranks[known(match).rank] = replace(known(match), kv_gib=float(match["gib"]))
    for match in GRAPHS.finditer(log):
        ranks[known(match).rank] = replace(known(match), graph_gib=float(match["gib"]), graph_s=float(match["s"]))
    return tuple(ranks[number] for number in sorted(ranks))


def kv_tokens_of(log: str) -> int | None:
    found = KV_TOKENS.search(log)
    return int(found[1].replace(",", "")) if found else None


def _value(config: str, name: str) -> str:
    found = re.search(rf"\b{name}=([^,\s]+)", config)
    return found[1].strip("'") if found else ""
