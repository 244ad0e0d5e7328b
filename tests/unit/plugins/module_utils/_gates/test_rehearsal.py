# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The five seed candidates against played engines: the gate code is the field's, and what is changed is only data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._gates.verdicts import judge_lane
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import LaneResult
from ansible_collections.tandem.campaign.tests.fakes.played.behaviour import read_behaviour
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import BEHAVIOURS, SEEDS, artifact, rehearse

QWEN, NEMOTRON, LAGUNA, DEEPSEEK, INKLING = SEEDS


def played(name: str, folder: Path) -> LaneResult:
    profiles, fault = rehearse(SEEDS[name], read_behaviour(BEHAVIOURS / f"{name}.toml"), folder)
    return judge_lane(suite_of(SEEDS[name]), "key", profiles, fault)


def caveats(lane: LaneResult) -> dict[str, str]:
    return {caveat.id: caveat.text for caveat in lane.caveats}


def test_every_candidate_has_a_behaviour() -> None:
    assert {file.stem for file in BEHAVIOURS.glob("*.toml")} == set(SEEDS)


def test_qwen_is_qualified_and_its_empty_responses_are_caveats(tmp_path: Path) -> None:
    lane = played(QWEN, tmp_path)
    assert lane.outcome == "qualified_with_caveats", lane.reason
    assert set(caveats(lane)) == {
        "responses-subset",
        "off/responses_text",
        "off/responses_tool",
        "off/responses_result",
    }
    assert "reasoning came with reasoning off: 5 characters" in caveats(lane)["off/responses_text"]


def test_nemotron_is_qualified(tmp_path: Path) -> None:
    lane = played(NEMOTRON, tmp_path)
    assert (lane.outcome, lane.caveats) == ("qualified", ()), lane.reason
    quality: dict[str, Any] = artifact(tmp_path, "quality")["profiles"][0]
    assert {area: (score["passed"], score["attempts"]) for area, score in quality["scores"].items()} == {
        "intelligence": (6, 6), "session": (3, 3), "tools": (3, 3)
    }  # fmt: skip
    assert quality["context"]["attempted_tokens"] == 16384
    control = artifact(tmp_path, "control-off")
    assert (control["verdict"], control["contrast"]["reasoning_characters"] > 0) == ("passed", True)


def test_laguna_at_240_000_tokens(tmp_path: Path) -> None:
    lane = played(LAGUNA, tmp_path)
    assert lane.outcome == "qualified_with_caveats", lane.reason
    long = artifact(tmp_path, "capacity-2")
    assert (long["completed"], long["requested"]["context_tokens"]) == (4, 240_000)
    assert abs(long["metrics"]["prompt_tokens"]["p50"] - long["prompt_target_tokens"]) <= 4
    # Published with --max-num-seqs 1: four at once stand in line.
    burst = artifact(tmp_path, "burst-off")
    assert (burst["verdict"], burst["generating_at_once"], burst["diagnostic"]) == ("passed", 1, True), burst["reason"]


def test_deepseek_keeps_the_request_that_thought_to_its_end(tmp_path: Path) -> None:
    lane = played(DEEPSEEK, tmp_path)
    assert lane.outcome == "qualified_with_caveats", lane.reason
    capacity = artifact(tmp_path, "capacity-1")
    assert (capacity["completed"], capacity["failed"], capacity["decode_label"]) == (11, 1, "combined")
    assert [(failure["request"], failure["class"]) for failure in capacity["failures"]] == [(8, "reasoning_exhausted")]
    assert "1 of 12 requests failed: reasoning_exhausted" in caveats(lane)["low/requests"]
    first, visible = (capacity["metrics"][name]["p50"] for name in ("first_output_s", "first_visible_s"))
    assert visible > 5 * first


def test_inkling_s_leak_is_a_caveat_and_its_profiles_stay_apart(tmp_path: Path) -> None:
    lane = played(INKLING, tmp_path)
    assert lane.outcome == "qualified_with_caveats", lane.reason
    assert "reasoning about the request 'The user wants'" in caveats(lane)["off/responses_text"]
    assert [profile.name for profile in lane.profiles] == ["off", "low"]
    off, low = artifact(tmp_path, "capacity-1"), artifact(tmp_path, "capacity-2")
    assert (off["profile"], off["decode_label"], low["profile"], low["decode_label"]) == (
        "off",
        "visible",
        "low",
        "combined",
    )
    assert off["metrics"]["first_output_s"]["p50"] == off["metrics"]["first_visible_s"]["p50"]
    assert low["metrics"]["first_output_s"]["p50"] < low["metrics"]["first_visible_s"]["p50"]
