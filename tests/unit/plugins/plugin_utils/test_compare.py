"""Packets against each other: what is refused with which reason, what is judged, and what stands side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.action.compare import comparison_files, pairs_of, thresholds_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EvidenceError, InputError
from ansible_collections.tandem.campaign.plugins.plugin_utils.compare import change_of, compared
from ansible_collections.tandem.campaign.plugins.plugin_utils.compare_rules import judged
from ansible_collections.tandem.campaign.plugins.plugin_utils.compare_sides import ComparedLane, Side, Timed, side_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.shift import Ratio
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet

NAME = "nemotron3-super-120b-a12b-nvfp4-tp2"
THRESHOLDS = {"first_output_s": 0.05, "decode_tok_s": 0.05}


@pytest.fixture(scope="module")
def packet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seed_packet(tmp_path_factory.mktemp("packet"), NAME).folder


@pytest.fixture(scope="module")
def side(packet: Path) -> Side:
    return side_of(packet)


def changed(side: Side, change: Callable[[ComparedLane], ComparedLane]) -> Side:
    return replace(side, lanes={NAME: change(side.lanes[NAME])})


def every_time(side: Side, change: Callable[[Timed], Timed]) -> Side:
    return changed(side, lambda lane: replace(lane, timed={key: change(timed) for key, timed in lane.timed.items()}))


def scaled(timed: Timed, factor: float) -> Timed:
    """Every request slower or faster by one factor."""
    times = {tag: 1 / factor if tag.endswith("tok_s") else factor for tag in timed.samples}
    samples = {tag: tuple(value * times[tag] for value in values) for tag, values in timed.samples.items()}
    metrics = {
        tag: {**one, "p50": one["p50"] * times[tag]} if tag != "prompt_tokens" else one
        for tag, one in timed.document["metrics"].items()
    }
    return replace(timed, document={**timed.document, "metrics": metrics}, samples=samples)


def documented(timed: Timed, **changes: Any) -> Timed:
    return replace(timed, document={**timed.document, **changes})


def against(
    before: Side, after: Side, *, baseline: bool = False, thresholds: dict[str, float] | None = None
) -> dict[str, Any]:
    return compared(before, after, THRESHOLDS if thresholds is None else thresholds, baseline=baseline, lanes={})


def test_the_samples_are_those_of_the_summaries(side: Side) -> None:
    for timed in side.lanes[NAME].timed.values():
        for tag, values in timed.samples.items():
            assert len(values) == timed.document["metrics"][tag]["n"]
            assert sorted(values)[(len(values) + 1) // 2 - 1] == timed.document["metrics"][tag]["p50"]


def test_a_packet_against_itself_is_alike(side: Side) -> None:
    document = against(side, side)
    (lane,) = document["lanes"]
    assert {figure["ratio"]["estimate"] for timed in lane["capacity"] for figure in timed["figures"]} == {1.0}
    assert lane["changes"] == []
    assert {gate["change"] for gate in lane["gates"]} == {"same"}
    assert document["verdict"] in ("alike", "undecided")


@pytest.mark.parametrize(("factor", "word"), [(2.0, "slower"), (0.5, "faster")])
def test_what_is_beyond_its_threshold(side: Side, factor: float, word: str) -> None:
    document = against(side, every_time(side, lambda timed: scaled(timed, factor)))
    assert document["verdict"] == word
    figures = {figure["tag"]: figure for figure in document["lanes"][0]["capacity"][0]["figures"]}
    assert (figures["first_output_s"]["verdict"], figures["decode_tok_s"]["verdict"]) == (word, word)
    assert figures["e2e_s"]["verdict"] == "undeclared"


def test_without_thresholds_there_are_differences_and_no_verdict(side: Side) -> None:
    document = against(side, every_time(side, lambda timed: scaled(timed, 3.0)), thresholds={})
    assert document["verdict"] == "undeclared"


def with_prompts_of(timed: Timed, tokens: float) -> Timed:
    metrics = timed.document["metrics"]
    return documented(timed, metrics={**metrics, "prompt_tokens": {**metrics["prompt_tokens"], "p50": tokens}})


def with_budget(timed: Timed, tokens: int) -> Timed:
    return documented(timed, requested={**timed.document["requested"], "max_tokens": tokens})


UNLIKE: dict[str, tuple[Callable[[Side], Side], str]] = {
    "protocol": (
        lambda side: every_time(side, lambda timed: documented(timed, protocol="capacity/v4-reasoning")),
        "protocol: capacity/v3 before, capacity/v4-reasoning after",
    ),
    "text": (
        lambda side: changed(side, lambda lane: replace(lane, identity={**lane.identity, "protocols": {}})),
        "text of capacity/v3 (sha256)",
    ),
    "budget": (lambda side: every_time(side, lambda timed: with_budget(timed, 777)), "before, 777 after"),
    "reasoning": (lambda side: changed(side, lambda lane: replace(lane, profiles={})), "reasoning: "),
    "sampling": (
        lambda side: every_time(side, lambda timed: documented(timed, sampling={"temperature": 1})),
        "sampling: ",
    ),
    "prompts": (lambda side: every_time(side, lambda timed: with_prompts_of(timed, 20000.0)), "apart (1% is borne)"),
    "hardware": (
        lambda side: changed(side, lambda lane: replace(lane, hardware={**lane.hardware, "gpus": ["other"]})),
        "hardware (gpus): ",
    ),
    "figures": (
        lambda side: every_time(side, lambda timed: replace(timed, gap="inconclusive: warm")),
        "after has no figures, inconclusive: warm",
    ),
}


@pytest.mark.parametrize("kind", UNLIKE)
def test_what_is_unlike_is_refused_with_the_reason(side: Side, kind: str) -> None:
    change, reason = UNLIKE[kind]
    document = against(side, change(side))
    for timed in document["lanes"][0]["capacity"]:
        assert timed["verdict"] == "refused"
        assert timed["figures"] == []
        assert any(reason in text for text in timed["refused"]), timed["refused"]


@pytest.mark.parametrize("kind", sorted(set(UNLIKE) - {"figures"}))
def test_a_declared_baseline_stands_beside_it_with_named_confounds_and_no_verdict(side: Side, kind: str) -> None:
    change, reason = UNLIKE[kind]
    document = against(side, every_time(change(side), lambda timed: scaled(timed, 3.0)), baseline=True)
    for timed in document["lanes"][0]["capacity"]:
        assert timed["verdict"] == "side_by_side"
        assert any(reason in text for text in timed["confounds"])
        assert {figure["verdict"] for figure in timed["figures"]} == {"undeclared"}


def test_a_rehearsal_is_never_set_against_a_measurement(side: Side) -> None:
    played = changed(side, lambda lane: replace(lane, identity={**lane.identity, "simulated": True}))
    document = against(side, played, baseline=True)
    assert document["verdict"] == "refused"
    assert "rehearsal" in document["lanes"][0]["refused"]
    assert document["lanes"][0]["gates"] == []


def test_a_check_that_no_longer_passes_is_a_regression_whatever_the_figures(side: Side) -> None:
    lane = json.loads(json.dumps(side.lanes[NAME].result))
    gate = lane["profiles"][0]["gates"][0]
    gate["checks"][0]["verdict"] = gate["verdict"] = "failed"
    document = against(side, changed(side, lambda one: replace(one, result=lane)))
    assert document["verdict"] == "regressed"
    worse = [row["check"] for row in document["lanes"][0]["gates"] if row["change"] == "worse"]
    assert worse == ["", gate["checks"][0]["name"]]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("passed", "passed", "same"),
        ("passed", "failed", "worse"),
        ("failed", "passed", "better"),
        ("inconclusive", "passed", "better"),
        ("passed", "inconclusive", "not shown again"),
        ("passed", "not_run", "not shown again"),
        ("failed", "inconclusive", "other"),
    ],
)
def test_what_a_gates_change_is_called(before: str, after: str, change: str) -> None:
    assert change_of(before, after) == change


def test_what_was_changed_in_between_is_named(side: Side) -> None:
    pins = json.loads(json.dumps(side.lanes[NAME].pins))
    pins["topology"]["driver"] = ["2"]
    document = against(side, changed(side, lambda lane: replace(lane, pins=pins)))
    assert [item["place"] for item in document["lanes"][0]["changes"]] == ["topology.driver"]


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        (Ratio(1.0, 0.97, 1.04), "alike"),
        (Ratio(1.1, 1.06, 1.2), "slower"),
        (Ratio(0.9, 0.8, 0.94), "faster"),
        (Ratio(1.05, 0.99, 1.1), "undecided"),
        (Ratio(2.0, None, None), "undecided"),
        (None, "undecided"),
    ],
)
def test_an_interval_has_to_be_wholly_on_one_side(ratio: Ratio | None, word: str) -> None:
    assert judged("first_output_s", ratio, 0.05)[0] == word
    opposite = {"slower": "faster", "faster": "slower"}
    assert judged("decode_tok_s", ratio, 0.05)[0] == opposite.get(word, word)


def test_a_packet_that_does_not_hold_is_compared_with_nothing(packet: Path, tmp_path: Path) -> None:
    copy = tmp_path / "h"
    shutil.copytree(packet, copy)
    file = copy / "lanes" / NAME / "capacity-1.json"
    file.write_text(file.read_text().replace('"completed": ', '"completed": 1'))
    with pytest.raises(EvidenceError, match="does not hold is not compared"):
        side_of(copy)


def test_campaigns_are_compared_host_by_host(tmp_path: Path) -> None:
    for place in ("old/a", "old/b", "new/b", "new/c", "none/d"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "manifest.json").write_text("{}")
    assert list(pairs_of(tmp_path / "old", tmp_path / "new")) == ["b"]
    assert pairs_of(tmp_path / "old" / "a", tmp_path / "new" / "c") == {
        "c": (tmp_path / "old" / "a", tmp_path / "new" / "c")
    }
    with pytest.raises(InputError, match="no host is in both"):
        pairs_of(tmp_path / "old", tmp_path / "none")
    with pytest.raises(InputError, match="is no packet and no campaign"):
        pairs_of(tmp_path, tmp_path / "new")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"speed": 0.1}, "no figure 'speed'; there are first_output_s"),
        ({"e2e_s": 5}, "a share between 0 and 1"),
        ({"e2e_s": True}, "share"),
    ],
)
def test_bad_thresholds(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        thresholds_of(given)


def test_what_people_get(side: Side) -> None:
    document = against(side, every_time(side, lambda timed: scaled(timed, 2.0)))
    files = comparison_files({"h": document}, ["markdown", "html"])
    assert set(files) == {"comparison.json", "comparison.md", "comparison.html", "charts/factors.svg"}
    assert json.loads(files["comparison.json"])["schema"] == "tandem.comparison/v1"
    assert "**slower**: at least one figure is slower by more than its threshold" in files["comparison.md"]
    assert "does not hold what differs from one load" in files["comparison.md"]
