# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an engine counts itself: running requests and requests served. A router's word is not asked."""

from __future__ import annotations

import re

from .._api.client import Client

RUNNING = re.compile(
    rb"^(?:llamacpp:requests_processing|vllm:num_requests_running|sglang:num_running_reqs)(?:\{[^}]*\})? ([0-9.e+]+)",
    re.MULTILINE,
)
#: Rise with every request served: llama.cpp counts decode calls, vLLM finished requests, SGLang requests.
SERVED = re.compile(
    rb"^(?:llamacpp:n_decode_total|vllm:request_success_total|sglang:num_requests_total)(?:\{[^}]*\})? ([0-9.e+]+)",
    re.MULTILINE,
)


def running_requests(worker_url: str) -> int:
    """0 where the engine doesn't say or is gone."""
    return int(_sum(RUNNING, worker_url) or 0)


def served(worker_url: str) -> float | None:
    """The engine's counter of what it has served; None where it has none."""
    return _sum(SERVED, worker_url)


def _sum(pattern: re.Pattern[bytes], worker_url: str) -> float | None:
    exchange = Client(worker_url, connect_s=1.0).get("/metrics", timeout_s=2.0)
    found = pattern.findall(exchange.body) if exchange.status == 200 else []
    return sum(map(float, found)) if found else None
