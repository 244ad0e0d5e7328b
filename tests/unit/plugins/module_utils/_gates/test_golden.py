"""The published campaign's tables, recomputed from its timing figures, digit for digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.metrics import (
    Decode,
    FirstOutput,
    FirstVisible,
    GenerationStart,
    Metric,
    Prefill,
    PromptTokens,
    aggregate_output,
    summarise,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[4] / "fixtures" / "golden_capacity.json").read_text())

#: lane: completed, prompt p50, first output p50, first visible p50, prefill p50, decode p50, aggregate; as printed in the report.
PUBLISHED = {
    "qwen35": ("12/12", "29,804", "2.324", "2.324", "12,821", "67.5", "17.83"),
    "nemotron": ("12/12", "28,438", "2.836", "2.836", "10,025", "59.5", "17.19"),
    "laguna": ("12/12", "29,834", "1.971", "1.971", "15,134", "70.9", "21.14"),
    "deepseek-low": ("11/12", "21,144", "2.705", "29.106", "7,818", "11.5", "7.60"),
    "inkling-off": ("12/12", "22,421", "2.838", "2.838", "7,887", "74.6", "16.78"),
    "inkling-low": ("12/12", "21,879", "2.789", "4.630", "7,844", "73.5", "34.55"),
}
PUBLISHED_LONG = {
    "qwen35-128k": ("4/4", "125,444", "14.593", "8,570", "65.0"),
    "nemotron-60k": ("4/4", "53,820", "5.579", "9,646", "60.0"),
    "laguna-240k": ("4/4", "231,457", "31.851", "7,252", "66.0"),
}


def replies(lane: dict[str, Any]) -> list[Reply]:
    """The rows keep only the end of the whole answer, so that is the last output here."""
    return [
        Reply(
            200,
            round(e2e * 1e6),
            content="x",
            prompt_tokens=prompt,
            completion_tokens=output,
            first_output_ns=round(first_output * 1e6),
            first_visible_ns=round(first_visible * 1e6),
            last_output_ns=round(e2e * 1e6),
        )
        for prompt, output, first_output, first_visible, e2e in lane["rows"]
    ]


def p50(metric: Metric, lane: dict[str, Any], form: str) -> str:
    start: GenerationStart = "first_output" if lane["protocol"] == "capacity-v4-reasoning" else "first_visible"
    value = summarise(metric, replies(lane), start).p50
    assert value is not None
    return f"{value:{form}}"


def completed(lane: dict[str, Any]) -> str:
    return f"{len(lane['rows'])}/{lane['requests']}"


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_matched_baseline(name: str) -> None:
    lane = GOLDEN["lanes"][name]
    aggregate = aggregate_output(replies(lane), round(lane["wall_clock_ms"] * 1e6))
    assert (
        completed(lane),
        p50(PromptTokens(), lane, ",.0f"),
        p50(FirstOutput(), lane, ".3f"),
        p50(FirstVisible(), lane, ".3f"),
        p50(Prefill(), lane, ",.0f"),
        p50(Decode(), lane, ".1f"),
        f"{aggregate:.2f}",
    ) == PUBLISHED[name]


@pytest.mark.parametrize("name", sorted(PUBLISHED_LONG))
def test_longer_contexts(name: str) -> None:
    lane = GOLDEN["lanes"][name]
    assert (
        completed(lane),
        p50(PromptTokens(), lane, ",.0f"),
        p50(FirstVisible(), lane, ".3f"),
        p50(Prefill(), lane, ",.0f"),
        p50(Decode(), lane, ".1f"),
    ) == PUBLISHED_LONG[name]
