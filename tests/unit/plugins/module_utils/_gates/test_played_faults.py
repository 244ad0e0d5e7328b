# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One recipe, one faultless played engine, one fault added as data: the outcome flips, and the reason names the kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.verdicts import judge_lane
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import (
    CapacityGate,
    FunctionalGate,
    Profile,
    QualityGate,
    Reasoning,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import LaneResult
from ansible_collections.tandem.campaign.tests.fakes.played.behaviour import Behaviour, behaviour_of
from ansible_collections.tandem.campaign.tests.fakes.played.faults import INSTEAD, SAID, SENT
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import SEEDS, rehearse

CHECKS = (
    "known_answer", "coding_smoke", "json_schema", "json_object", "streaming", "coherence", "tool_call", "tool_stream", "tool_parallel", "tool_result",
    "responses_text", "responses_tool", "responses_result",
)  # fmt: skip
RECIPE = replace(
    next(iter(SEEDS.values())),
    caveats=(),
    profile=(
        Profile(
            "off",
            FunctionalGate("functional/v1", CHECKS),
            Reasoning("off", kwargs={"enable_thinking": False}),
            QualityGate("quality/v3"),
            (CapacityGate("capacity/v3", 4096, requests=4, warmup=1, max_tokens=192),),
        ),
    ),
)
THINKING = replace(
    RECIPE,
    profile=(
        replace(
            RECIPE.profile[0],
            name="on",
            reasoning=Reasoning("on", kwargs={"enable_thinking": True}),
            quality=QualityGate("quality/v3", reasoning_tokens=1024),
            capacity=(CapacityGate("capacity/v4-reasoning", 4096, requests=4, warmup=1, max_tokens=512),),
        ),
    ),
)
FAULTLESS: dict[str, Any] = {
    "time_scale": 0.01,
    "decode_tok_s": 60,
    "answer_tokens": 120,
    "reasoning": {"tokens": 60, "default": True},
}
CAPACITY = {"path": "/v1/chat", "match": "what was delivered"}
TOOLS = {"path": "/v1/chat", "match": "weather in Oakland right now"}

#: (the fault, the outcome, what the reason or a caveat says). Faults that only thinking can have are below.
FLIPS: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "repetition", "match": "capital"}, "rejected", "lock handle"),
    ({"kind": "foreign", "match": "one word"}, "rejected", "known_answer"),
    ({"kind": "silent", "match": "why leaves"}, "rejected", "no visible text"),
    ({"kind": "broken_text", "match": "bread"}, "rejected", "broken"),
    ({"kind": "wrong", "match": "Raise the timeout"}, "rejected", "timeout_edit"),
    ({"kind": "wrong", "match": "Which release code"}, "rejected", "session 0/3"),
    ({"kind": "wrong", "match": "long, detailed|first code and the last"}, "rejected", "context"),
    ({"kind": "doubled_arguments", **TOOLS}, "rejected", "twice"),
    ({"kind": "cut_arguments", **TOOLS}, "rejected", "unterminated JSON"),
    ({"kind": "shared_index", "match": "and in"}, "rejected", "tool_parallel"),
    ({"kind": "call_as_text", **TOOLS}, "rejected", "tool markup"),
    ({"kind": "finish_stop", **TOOLS}, "rejected", "finish reason 'stop'"),
    ({"kind": "reasoning_in_content", "match": "why leaves"}, "rejected", "reasoning marker '</think>'"),
    ({"kind": "self_talk", "path": "/v1/responses", "match": "capital"}, "rejected", "'The user wants'"),
    ({"kind": "reasoning_only", "path": "/v1/responses", "match": "capital"}, "rejected", "responses_text"),
    ({"kind": "reasoning_only", "path": "/v1/chat", "match": "84 euros", "requests": [1]}, "inconclusive", "the reasoning control failed"),
    ({"kind": "one_token", **CAPACITY}, "qualified", "every required gate passed"),
    ({"kind": "miscounted", **CAPACITY}, "inconclusive", "the length was not reached"),
    ({"kind": "warm", **CAPACITY}, "inconclusive", "cache"),
    ({"kind": "buffered", **CAPACITY}, "inconclusive", "the stream was buffered"),
    ({"kind": "burst", **CAPACITY, "values": {"tokens": 40}}, "inconclusive", "burst delivery"),
    ({"kind": "slow", **CAPACITY, "requests": [1]}, "qualified", "every required gate passed"),
    ({"kind": "late_text", **CAPACITY}, "qualified", "every required gate passed"),
    ({"kind": "stream_error", **CAPACITY, "requests": [3]}, "qualified_with_caveats", "1 of 4 requests failed: stream_error"),
    ({"kind": "stream_error", **CAPACITY}, "rejected", "none of 4 requests was answered (stream_error)"),
    ({"kind": "stream_error", "match": "weather in Lisbon", "values": {"after": 1}}, "rejected", "stream_error"),
    ({"kind": "cut", **CAPACITY, "requests": [2]}, "infrastructure", "the body ended early"),
    ({"kind": "malformed", "match": "why leaves"}, "rejected", "malformed"),
    ({"kind": "no_done", "match": "why leaves"}, "rejected", "[DONE]"),
    ({"kind": "no_finish", "match": "why leaves"}, "rejected", "a finish reason"),
    ({"kind": "no_usage", **CAPACITY}, "inconclusive", "no usage"),
    ({"kind": "empty_finish_reasons", "match": "why leaves"}, "qualified_with_caveats", "empty string for a finish reason"),
    ({"kind": "status", "match": "weather", "values": {"status": 500}}, "infrastructure", "HTTP 500"),
    ({"kind": "status", "match": "fog", "values": {"status": 400, "text": "roles must alternate"}}, "rejected", "roles must alternate"),
    ({"kind": "status", **CAPACITY, "values": {"status": 400, "text": "maximum context length is 4000 tokens"}}, "infrastructure", "limits or a gate"),
]  # fmt: skip
#: Endings that need the request's own time limit; test_client has them.
ELSEWHERE = {"hang", "no_end"}


def outcome_of(recipe: Recipe, behaviour: Behaviour, folder: Path) -> LaneResult:
    profiles, fault = rehearse(recipe, behaviour, folder)
    return judge_lane(suite_of(recipe), "key", profiles, fault)


def with_fault(fault: dict[str, Any]) -> Behaviour:
    return behaviour_of({**FAULTLESS, "fault": [fault]})


@pytest.mark.parametrize("recipe", [RECIPE, THINKING], ids=["off", "on"])
def test_without_a_fault_the_lane_is_qualified(recipe: Recipe, tmp_path: Path) -> None:
    lane = outcome_of(recipe, behaviour_of(FAULTLESS), tmp_path)
    assert (lane.outcome, lane.caveats) == ("qualified", ()), lane.reason


@pytest.mark.parametrize(
    ("fault", "outcome", "words"), FLIPS, ids=lambda value: value["kind"] if isinstance(value, dict) else None
)
def test_a_fault_flips_the_outcome(fault: dict[str, Any], outcome: str, words: str, tmp_path: Path) -> None:
    lane = outcome_of(RECIPE, with_fault(fault), tmp_path)
    said = " | ".join([lane.reason, *(caveat.text for caveat in lane.caveats)])
    assert lane.outcome == outcome, said
    assert words in said


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        ({"kind": "reasoning_exhausted", **CAPACITY, "requests": [3]}, "qualified_with_caveats", "1 of 4 requests failed: reasoning_exhausted"),
        ({"kind": "reasoning_exhausted", "match": "voice assistant", "requests": [2]}, "rejected", "the whole allowance went into reasoning"),
        ({"kind": "call_in_reasoning", **TOOLS}, "rejected", "inside the reasoning channel"),
        ({"kind": "reasoning_in_content", "match": "capital"}, "rejected", "reasoning marker"),
    ],
)  # fmt: skip
def test_faults_of_a_model_that_thinks(fault: dict[str, Any], outcome: str, words: str, tmp_path: Path) -> None:
    lane = outcome_of(THINKING, with_fault(fault), tmp_path)
    said = " | ".join([lane.reason, *(caveat.text for caveat in lane.caveats)])
    assert lane.outcome == outcome, said
    assert words in said


def test_a_switch_without_effect_is_found_both_ways(tmp_path: Path) -> None:
    always = behaviour_of({**FAULTLESS, "reasoning": {"tokens": 60, "default": True, "switch": "ignored"}})
    never = behaviour_of({**FAULTLESS, "reasoning": {"tokens": 60, "default": False, "switch": "ignored"}})
    assert "reasoning came with reasoning off" in outcome_of(RECIPE, always, tmp_path / "off").reason
    assert "the puzzle brought no reasoning" in outcome_of(THINKING, never, tmp_path / "on").reason


WAYS: list[dict[str, Any]] = [
    {"flavour": "sglang"}, {"flavour": "llama_cpp"}, {"flavour": "openai"}, {"usage": "each"}, {"role": "at_once"}, {"role": "none"}, {"tool_fragment": 1},
]  # fmt: skip


@pytest.mark.parametrize("changed", WAYS, ids=str)
def test_ways_that_are_no_faults(changed: dict[str, Any], tmp_path: Path) -> None:
    """Field names, usage in each event, the role at once, never or with the text, arguments letter by letter: the same verdict.

    The recipe's engine is vLLM, so that a flavour without its tokenizer page is calibrated by usage.
    """
    (profile,) = RECIPE.profile
    longer = replace(profile, capacity=(replace(profile.capacity[0], context_tokens=16384),))
    lane = outcome_of(replace(RECIPE, profile=(longer,)), behaviour_of({**FAULTLESS, **changed}), tmp_path)
    assert lane.outcome == "qualified", lane.reason


def test_every_kind_of_fault_is_played_here() -> None:
    thinking = {"reasoning_exhausted", "call_in_reasoning"}
    assert {*SAID, *SENT, *INSTEAD} - ELSEWHERE == {*(fault["kind"] for fault, _outcome, _words in FLIPS), *thinking}


def test_a_misspelt_behaviour_is_refused() -> None:
    with pytest.raises(ValueError, match="behaviour has no 'decode_rate'"):
        behaviour_of({"decode_rate": 5})
    with pytest.raises(ValueError, match="no fault is called colourless"):
        rehearse(RECIPE, with_fault({"kind": "colourless"}), Path())
