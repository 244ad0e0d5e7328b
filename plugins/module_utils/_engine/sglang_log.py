# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang's startup log. Pure. Shapes: sglang 0.5.16, ``model_runner.py``, ``memory_pool.py``, ``cuda_graph_setup.py``.

A rank's prefix is ``[time TP1]`` or ``[time TP1 EP1]``; with one rank it is ``[time]``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from .facts import Rank

RANKED = r"\[[^\]\n]*?(?:\bTP(?P<rank>\d+)\b[^\]\n]*)?\][^\n]*?"
WEIGHTS = re.compile(RANKED + r"Load weight end\.[^\n]*?mem usage=(?P<gib>[\d.]+) GB")
KV = re.compile(
    RANKED + r"KV Cache is allocated\. dtype: (?P<dtype>[\w.]+), #tokens: (?P<tokens>\d+), (?P<sizes>[^\n]*)"
)
GRAPHS = re.compile(RANKED + r"Capture \S+ CUDA graph end\. elapsed=(?P<s>[\d.]+) s, mem usage=(?P<gib>[\d.]+) GB")
SIZE = re.compile(r"size: ([\d.]+) GB")


def ranks_of(log: str) -> tuple[Rank, ...]:
    """Weights, KV pools (a hybrid model has several, they are added up) and graphs by rank."""
    ranks: dict[int, Rank] = {}

    def rank(match: re.Match[str]) -> Rank:
        number = int(match["rank"] or 0)
        return ranks.get(number, Rank(number))

    for match in WEIGHTS.finditer(log):
        ranks[rank(match).rank] = replace(rank(match), weights_gib=float(match["gib"]))
    for match in KV.finditer(log):
        size = sum(map(float, SIZE.findall(match["sizes"])))
        ranks[rank(match).rank] = replace(rank(match), kv_gib=round((rank(match).kv_gib or 0.0) + size, 3))
    for match in GRAPHS.finditer(log):
        known = rank(match)
        ranks[known.rank] = replace(
            known,
            graph_gib=round((known.graph_gib or 0.0) + float(match["gib"]), 3),
            graph_s=round((known.graph_s or 0.0) + float(match["s"]), 3),
        )
    return tuple(ranks[number] for number in sorted(ranks))


def kv_dtype_of(log: str) -> str | None:
    """The type that was really allocated."""
    found = KV.search(log)
    return found["dtype"] if found else None
