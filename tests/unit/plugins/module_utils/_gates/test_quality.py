# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quality's checkers: each takes the right answer in its usual forms and refuses near misses; scores and the long context follow from attempts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.runner import LaneGates
from ansible_collections.tandem.campaign.plugins.module_utils._gates.tasks import answer_mismatch, failure_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import (
    FunctionalGate,
    Profile,
    QualityGate,
    Reasoning,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import GateResult
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_protocol, read_set
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.server import completion, scripted

PROTOCOL = read_protocol("quality/v3")
assert PROTOCOL is not None
V3: dict[str, Any] = PROTOCOL.document["task"]
DIFF = "--- a/settings.ini\n+++ b/settings.ini\n@@ -1,4 +1,4 @@\n [client]\n host = depot\n-timeout = 30\n+timeout = 45\n retries = 2"
SHORT = "--- settings.ini\n+++ settings.ini\n@@ -3 +3 @@\n-timeout = 30\n+timeout = 45\n"
TRIAGE: dict[str, Any] = {"total_ms": 3000, "within_limit": False, "excess_ms": 500, "slowest": "model"}
BOOKING: dict[str, Any] = {
    "dock": 4, "carrier": "Nordwind", "date": "2026-03-17", "start_hour": 7, "hours": 3, "cooled": True, "pallets": ["P-11", "P-12"],
}  # fmt: skip

#: task -> (what passes, near misses and the word that the reason has to have).
TEXTS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "timeout_edit": (
        [DIFF, f"```diff\n{DIFF}\n```", SHORT, SHORT.replace("--- ", "--- a/").replace("+++ ", "+++ b/") + "\\ No newline at end of file"],
        [
            (DIFF.replace("45", "40"), "'timeout = 45' was wanted"),
            (DIFF.replace("-1,4", "-1,3"), "counts don't agree"),
            (DIFF.replace("+1,4", "+1,5"), "before its header says"),
            (DIFF.replace(" host = depot", " host = depots"), "line 2 of the file"),
            (DIFF.replace("-timeout = 30\n", ""), "line 3 of the file"),
            (DIFF.replace(" retries = 2", "-retries = 2\n+retries = 3").replace("1,4 +1,4", "1,4 +1,4"), "line 4 becomes"),
            (DIFF.replace("settings.ini", "config.ini"), "the file's name"),
            (DIFF.replace("@@ -1,4 +1,4 @@\n", ""), "no hunk header"),
            (f"Here is the diff:\n{DIFF}", "--- and the file's name"),
            ("[client]\nhost = depot\ntimeout = 45\nretries = 2", "--- and the file's name"),
            ("--- a/settings.ini\n+++ b/settings.ini", "no hunk"),
        ],
    ),
    "latency_triage": (
        [json.dumps(TRIAGE), json.dumps(TRIAGE, indent=1)],
        [
            (json.dumps({**TRIAGE, "total_ms": "3000"}), "no integer"),
            (json.dumps({**TRIAGE, "excess_ms": -500}), "excess_ms is"),
            (json.dumps({**TRIAGE, "within_limit": "false"}), "no boolean"),
            (json.dumps({**TRIAGE, "within_limit": True}), "within_limit is"),
            (json.dumps({**TRIAGE, "slowest": "language model"}), "none of"),
            (json.dumps({key: value for key, value in TRIAGE.items() if key != "slowest"}), "lacks"),
            (json.dumps({**TRIAGE, "advice": "parallel"}), "does not allow"),
            (f"```json\n{json.dumps(TRIAGE)}\n```", "no JSON"),
        ],
    ),
    "recall": (
        ["HARBOR-417, Thursday, 06:30", "HARBOR-417,Thursday,06:30.", "harbor-417, thursday, 06:30\n"],
        [
            ("HARBOR-471, Thursday, 06:30", "has no"),
            ("HARBOR-417, Tuesday, 06:30", "has no"),
            ("HARBOR-417, Thursday, 6:30", "has no"),
            ("HARBOR-417, Thursday, 06:30, as agreed", "has no"),
            ("The code is HARBOR-417, Thursday, 06:30", "has no"),
        ],
    ),
}  # fmt: skip
CALLS: list[tuple[dict[str, Any], str]] = [
    ({**BOOKING, "dock": "4"}, "$.dock is no integer"),
    ({**BOOKING, "cooled": "true"}, "$.cooled is no boolean"),
    ({**BOOKING, "hours": 10}, "was not wanted"),
    ({**BOOKING, "date": "17.03.2026"}, "was not wanted"),
    ({**BOOKING, "pallets": "P-11, P-12"}, "was not wanted"),
    ({**BOOKING, "pallets": ["P-12", "P-11"]}, "was not wanted"),
    ({key: value for key, value in BOOKING.items() if key != "cooled"}, "was not wanted"),
    ({**BOOKING, "note": "urgent"}, "was not wanted"),
]


def said(text: str) -> Reply:
    return Reply(200, 1, content=text, finish_reason="stop")


def called(arguments: dict[str, Any], name: str = "book_dock") -> Reply:
    call = {
        "index": 0,
        "id": "c",
        "name": name,
        "arguments": json.dumps(arguments),
        "ids": ["c"],
        "names": [name],
        "fragments": [],
    }
    return Reply(200, 1, tool_calls=(call,), finish_reason="tool_calls")


def test_every_task_has_its_near_misses() -> None:
    assert set(V3) == {*TEXTS, "typed_call"}
    assert min(len(wrong) for _right, wrong in TEXTS.values()) >= 3
    assert len(CALLS) >= 3
    assert [(task["area"], task["attempts"]) for task in V3.values()] == [
        ("intelligence", 3), ("intelligence", 3), ("session", 3), ("tools", 3)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, (right, _wrong) in TEXTS.items() for text in right])
def test_right_answers(name: str, text: str) -> None:
    assert answer_mismatch(V3[name], said(text)) is None


@pytest.mark.parametrize(
    ("name", "text", "word"), [(name, text, word) for name, (_right, wrong) in TEXTS.items() for text, word in wrong]
)
def test_near_misses(name: str, text: str, word: str) -> None:
    assert word in str(answer_mismatch(V3[name], said(text)))


def test_typed_arguments() -> None:
    assert answer_mismatch(V3["typed_call"], called(BOOKING)) is None
    assert "was not wanted" in str(answer_mismatch(V3["typed_call"], called(BOOKING, "book")))
    assert "0 tool calls" in str(answer_mismatch(V3["typed_call"], said("Booked.")))


@pytest.mark.parametrize(("arguments", "word"), CALLS)
def test_near_misses_of_a_call(arguments: dict[str, Any], word: str) -> None:
    assert word in str(answer_mismatch(V3["typed_call"], called(arguments)))


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (said("<think>hm</think> HARBOR-417, Thursday, 06:30"), "leak"),
        (replace(said("HARBOR-417, Thursday, 06:30"), reasoning="First I"), "unwanted_reasoning"),
        (replace(said("HARBOR-417, Thurs"), finish_reason="length"), "cut_by_allowance"),
        (Reply(200, 1, error_class="reasoning_exhausted", error="all of it"), "reasoning_exhausted"),
        (said("no idea"), "wrong_answer"),
    ],
)
def test_a_failure_has_its_class(reply: Reply, kind: str) -> None:
    failure = failure_of(V3["recall"], [said("OK"), reply], Reasoning(), "")
    assert failure is not None
    assert failure.kind == kind


def test_an_early_turn_that_leaks_fails_the_attempt() -> None:
    failure = failure_of(
        V3["recall"], [said("<think>OK</think>"), said("HARBOR-417, Thursday, 06:30")], Reasoning(), ""
    )
    assert failure is not None
    assert failure.kind == "leak"


class Engine:
    """Knows quality/v3. ``faults``: task -> answer instead; ``reasons``: whether the puzzle brings reasoning with, and without, a switch."""

    def __init__(self, *, reasons: tuple[bool, bool] = (False, True), extra_tokens: int = 0, **faults: str) -> None:
        self.faults, self.reasons, self.extra_tokens = faults, reasons, extra_tokens
        self.budgets: list[int] = []

    def __call__(self, _method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/apply-template":
            return 200, {"prompt": "\n".join(message["content"] for message in body["messages"])}
        if path == "/tokenize":
            return 200, {"tokens": body["content"].split()}
        text = body["messages"][-1]["content"]
        self.budgets.append(body["max_tokens"])
        tokens = sum(len(message["content"].split()) for message in body["messages"])
        task = next((task for word, task in WORDS.items() if word in text), "")
        if task == "puzzle":
            switched = "chat_template_kwargs" in body or "reasoning_effort" in body
            more = {"reasoning": "Let me see."} if self.reasons[0 if switched else 1] else {}
            return 200, completion("48, 24 and 12", stream=body["stream"], usage=(tokens, 9), **more)
        if task == "typed_call":
            call = {
                "index": 0,
                "id": "c",
                "function": {"name": "book_dock", "arguments": self.faults.get(task, json.dumps(BOOKING))},
            }
            return 200, completion("", stream=body["stream"], finish="tool_calls", tool_calls=[call])
        answers = {
            "timeout_edit": DIFF,
            "latency_triage": json.dumps(TRIAGE),
            "recall": "HARBOR-417, Thursday, 06:30",
            "capital": "Paris",
        }
        if task == "context":
            codes = [line.split()[-1].rstrip(".") for line in text.split("\n") if line.startswith("Note: ")]
            answers["context"] = " ".join(codes)
        answer = self.faults.get(task, answers.get(task, "OK"))
        return 200, completion(
            answer, stream=body["stream"], usage=(tokens + self.extra_tokens * (task == "context"), 5)
        )


WORDS = {
    "unified diff": "timeout_edit", "voice assistant": "latency_triage", "Which release code": "recall", "Nordwind": "typed_call",
    "Three friends": "puzzle", "first code": "context", "capital of France": "capital",
}  # fmt: skip
DEMO: Recipe = read_set(COLLECTION_RECIPES / "demo.toml").recipe[0]
GATE = QualityGate("quality/v3")
OFF = Reasoning("off", kwargs={"enable_thinking": False})


def run(
    engine: Engine, folder: Path, reasoning: Reasoning = OFF, gate: QualityGate = GATE
) -> tuple[GateResult, dict[str, Any]]:
    profile = Profile("p", FunctionalGate("functional/v1", ("known_answer",)), reasoning, gate)
    recipe = replace(DEMO, profile=(profile,))
    protocols = {name: found.document for name in recipe.protocols() if (found := read_protocol(name))}
    with scripted(engine) as server:
        lane = LaneGates(
            suite_of(recipe),
            protocols,
            server.url,
            folder,
            identity(),
            "seed",
            lambda *_text, **_data: None,
            lambda _since: [],
        )
        profiles, fault = lane.run()
    assert fault is None
    return profiles[0].gates[1], json.loads((folder / "quality.json").read_text())["profiles"][0]


def test_all_of_it_passes_with_its_control_and_context(tmp_path: Path) -> None:
    engine = Engine()
    result, record = run(engine, tmp_path)
    assert result.verdict == "passed", result.reason
    # The demo's recipe has 4,096 tokens of context: 512 for the answer and 64 of margin leave 3,520 of the 16,384.
    assert result.reason == "intelligence 6/6, session 3/3, tools 3/3, context 3,520 tokens"
    assert (record["context"]["target_tokens"], record["context"]["attempted_tokens"]) == (16384, 3520)
    assert record["budget"] == {"visible_tokens": 512, "reasoning_tokens": 0, "sent_as": "one cap"}
    assert [len(attempt["rows"]) for attempt in record["attempts"] if attempt["task"] == "recall"] == [4, 4, 4]
    assert record["attempts"][0]["answer"] == DIFF


def test_quality_refers_to_its_control_by_path_and_hash(tmp_path: Path) -> None:
    _result, record = run(Engine(), tmp_path)
    assert record["control"]["path"] == f"lanes/{DEMO.name}/control-p.json"
    data = (tmp_path / "control-p.json").read_bytes()
    assert record["control"]["sha256"] == hashlib.sha256(data).hexdigest()
    control = json.loads(data)
    assert (control["schema"], control["verdict"]) == ("tandem.control/v1", "passed")
    assert control["reasoning"] == {"mode": "off", "sent": {"chat_template_kwargs": {"enable_thinking": False}}}
    assert "without it the same puzzle brought 11 characters: the switch took effect" in control["reason"]


@pytest.mark.parametrize(
    ("reasoning", "reasons", "verdict", "word"),
    [
        (OFF, (False, False), "passed", "no reasoning in 3 requests with chat_template_kwargs {'enable_thinking': False}; none came without it, either"),
        (OFF, (True, True), "failed", "reasoning in 1 of 3 requests"),
        (Reasoning(), (False, False), "passed", "no reasoning in 3 requests with no switch set"),
        (Reasoning("effort", "low"), (True, True), "passed", "with effort low the puzzle brought 11 characters of reasoning"),
        (Reasoning("effort", "low"), (False, False), "failed", "with effort low the puzzle brought no reasoning"),
        (Reasoning("on"), (False, False), "failed", "with reasoning on the puzzle brought no reasoning"),
    ],
)  # fmt: skip
def test_without_its_control_quality_is_inconclusive(
    tmp_path: Path, reasoning: Reasoning, reasons: tuple[bool, bool], verdict: str, word: str
) -> None:
    result, record = run(Engine(reasons=reasons), tmp_path, reasoning)
    control = json.loads((tmp_path / "control-p.json").read_text())
    assert (control["verdict"], word in control["reason"]) == (verdict, True), control["reason"]
    if verdict == "passed":
        assert result.verdict == "passed", result.reason
    else:
        assert (result.verdict, record["attempts"]) == ("inconclusive", [])
        assert "no task was run" in result.reason


def test_both_allowances_are_one_cap(tmp_path: Path) -> None:
    engine = Engine(reasons=(True, True))
    run(
        engine,
        tmp_path,
        Reasoning("effort", "low"),
        QualityGate("quality/v3", visible_tokens=300, reasoning_tokens=700),
    )
    # Functional's requests have their own; the control, the tasks and the context have the sum.
    assert set(engine.budgets[2:]) == {1000}


@pytest.mark.parametrize(
    ("engine", "verdict", "reason"),
    [
        (Engine(recall="HARBOR-471, Thursday, 06:30"), "failed", "intelligence 6/6, session 0/3, tools 3/3; recall: the answer has no"),
        (Engine(typed_call="{}"), "failed", "intelligence 6/6, session 3/3, tools 0/3; typed_call: a call book_dock({})"),
        (Engine(context="MAPLE-1 CEDAR-2"), "failed", "context: wrong_answer: the answer has no"),
        (Engine(extra_tokens=300), "inconclusive", "context: 3520 tokens were attempted, the prompt had 3820"),
    ],
)  # fmt: skip
def test_what_keeps_it_from_passing(tmp_path: Path, engine: Engine, verdict: str, reason: str) -> None:
    result, _record = run(engine, tmp_path)
    assert (result.verdict, reason in result.reason) == (verdict, True), result.reason
