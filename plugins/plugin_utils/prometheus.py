# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as a Prometheus text file, for node_exporter's textfile collector: outcomes, restore and figures as gauges."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from ..module_utils._words.text import plain

Document = Mapping[str, Any]
#: Metric of the packet -> (name by the rules of Prometheus, help).
FIGURES = {
    "first_output_s": ("tandem_first_output_seconds", "Request's first byte to the first output of any kind."),
    "first_visible_s": ("tandem_first_visible_seconds", "Request's first byte to the first visible content."),
    "prefill_tok_s": ("tandem_prefill_tokens_per_second", "Prompt tokens over the time to generation's start."),
    "decode_tok_s": ("tandem_decode_tokens_per_second", "Tokens behind generation's start over their time."),
    "e2e_s": ("tandem_request_seconds", "Request's first byte to the end of its answer."),
}
QUANTILES = {"p50": "0.5", "p95": "0.95"}
#: (labels, value)
Sample = tuple[Mapping[str, str], float]


def prometheus_text(results: Document) -> str:
    """Every family with HELP and TYPE; a figure that is missing, or may not be used, has no line."""
    common = {"campaign": results["campaign"], "host": results["host"], "simulated": str(results["simulated"]).lower()}
    lines = [line for name, told, samples in _families(results) for line in _family(name, told, common, list(samples))]
    return "\n".join(lines) + "\n"


def _families(results: Document) -> Iterator[tuple[str, str, Iterator[Sample]]]:
    moment = datetime.datetime.fromisoformat(results["finished_at"].replace("Z", "+00:00")).timestamp()
    yield "tandem_campaign_finished_timestamp_seconds", "When the campaign ended.", iter([({}, moment)])
    yield "tandem_host_outcome", "1 for what the campaign came to.", iter([({"outcome": results["outcome"]}, 1.0)])
    restored = results["restore"]["verdict"] == "passed"
    yield "tandem_restore_passed", "Whether the host is as it was before.", iter([({}, float(restored))])
    outcomes = (({"lane": lane["recipe"], "outcome": lane["outcome"]}, 1.0) for lane in results["lanes"])
    yield "tandem_lane_outcome", "1 for what a lane came to.", outcomes
    for tag, (name, told) in FIGURES.items():
        yield name, told, _quantiles(results, tag)
    yield (
        "tandem_output_tokens_per_second",
        "Completion tokens over the lane's wall clock.",
        _single(results, "aggregate_output_tok_s"),
    )
    yield "tandem_output_token_joules", "Energy over completion tokens.", _single(results, "joules_per_output_token")
    for name in ("completed", "failed"):
        yield f"tandem_requests_{name}", f"Measured requests that {name}.", _single(results, name)


def _timed(results: Document) -> Iterator[tuple[dict[str, str], Document]]:
    for lane in results["lanes"]:
        for one in lane["capacity"]:
            if not one["withheld"] and one["verdict"] == "passed":
                labels = {
                    "lane": lane["recipe"],
                    "profile": one["profile"],
                    "protocol": one["protocol"],
                    "context_tokens": str(one["context_tokens"]),
                }
                yield labels, one


def _quantiles(results: Document, tag: str) -> Iterator[Sample]:
    for labels, one in _timed(results):
        for name, quantile in QUANTILES.items():
            if one["metrics"][tag][name] is not None:
                yield {**labels, "quantile": quantile}, one["metrics"][tag][name]


def _single(results: Document, name: str) -> Iterator[Sample]:
    for labels, one in _timed(results):
        if one[name] is not None:
            yield labels, float(one[name])


def _family(name: str, told: str, common: Mapping[str, str], samples: list[Sample]) -> Iterator[str]:
    if samples:
        yield f"# HELP {name} {told}"
        yield f"# TYPE {name} gauge"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in {**common, **labels}.items())
        yield f"{name}{{{inside}}} {value!r}"


def _escaped(text: str) -> str:
    return plain(text, 200).replace("\\", "\\\\").replace('"', '\\"')
