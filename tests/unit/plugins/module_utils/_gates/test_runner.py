"""A lane's gates in order: what is corrupt is never timed, and a fault ends the run without a verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.runner import LaneGates
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import (
    CapacityGate,
    FunctionalGate,
    Profile,
    QualityGate,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import GateResult
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_protocol, read_set
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.server import completion, scripted

DEMO: Recipe = read_set(COLLECTION_RECIPES / "demo.toml").recipe[0]
PROFILE = Profile(
    "off",
    FunctionalGate("functional/v1", ("known_answer",)),
    quality=QualityGate("quality/starter-v1", True, 64),
    capacity=(CapacityGate("capacity/v3", 200, requests=3, warmup=1, max_tokens=16),),
)


class Engine:
    """Answers as a small model would; ``faults`` change that."""

    def __init__(self, **faults: Any) -> None:
        self.faults = faults
        self.cached = 0
        self.timed = 0

    def __call__(self, _method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/apply-template":
            return 200, {"prompt": "\n".join(message["content"] for message in body["messages"])}
        if path == "/tokenize":
            return 200, {"tokens": body["content"].split()}
        if path == "/metrics":
            self.cached += self.faults.get("hits", 0)
            return 200, f"llamacpp:prompt_tokens_cached_total {self.cached}\n".encode()
        return self._chat(body)

    def _chat(self, body: dict[str, Any]) -> tuple[int, Any]:
        text = body["messages"][-1]["content"]
        tokens = len("\n".join(message["content"] for message in body["messages"]).split()) + self.faults.get(
            "extra_tokens", 0
        )
        if "capital of France" in text:
            return 200, completion(self.faults.get("capital", "Paris"), stream=body["stream"])
        if "what was delivered" in text:
            self.timed += 1
            if self.timed == self.faults.get("fails_at"):
                return self.faults["failure"], {"error": "no"}
            return 200, completion("many boxes of paper", stream=body["stream"], usage=(tokens, 4))
        answers = {"Extract": '{"colour": "red", "boxes": 12, "hall": 3}', "opposite": "cold", "name?": "Clara"}
        return 200, completion(
            next((answer for word, answer in answers.items() if word in text), "Hello."), stream=body["stream"]
        )


def run(
    engine: Engine, folder: Path, *, intrusions: tuple[str, ...] = (), profile: Profile = PROFILE
) -> tuple[dict[str, GateResult], str | None]:
    protocols = {name: protocol.document for name in profile_protocols(profile) if (protocol := read_protocol(name))}
    with scripted(engine) as server:
        suite = suite_of(replace(DEMO, profile=(profile,)))
        lane = LaneGates(
            suite, protocols, server.url, folder, identity(), "seed", lambda *_text, **_data: None, lambda _since: list(intrusions)
        )  # fmt: skip
        profiles, fault = lane.run()
    return {gate.protocol: gate for gate in profiles[0].gates}, fault


def profile_protocols(profile: Profile) -> tuple[str, ...]:
    return replace(DEMO, profile=(profile,)).protocols()


def test_all_passed(tmp_path: Path) -> None:
    gates, fault = run(Engine(), tmp_path)
    assert fault is None
    assert {name: gate.verdict for name, gate in gates.items()} == dict.fromkeys(profile_protocols(PROFILE), "passed")
    assert gates["quality/starter-v1"].reason == "intelligence 6/6, session 3/3"
    channels = json.loads((tmp_path / "functional.json").read_text())["profiles"][0]["channels"]["chat"]
    assert channels == {
        "requests": 2, "with_reasoning": 0, "fields": [], "reasoning_characters": 0, "reasoning_tokens": None, "reasoning_tokens_told_by": 0
    }  # fmt: skip
    capacity = json.loads((tmp_path / "capacity-1.json").read_text())
    assert (capacity["completed"], capacity["prompt_target_tokens"], capacity["cache"]["unique"]) == (3, 168, True)
    assert capacity["identity"]["campaign"] == "c"


def test_what_is_corrupt_is_never_timed(tmp_path: Path) -> None:
    engine = Engine(capital="You: You: You:")
    gates, fault = run(engine, tmp_path)
    assert fault is None
    assert [gate.verdict for gate in gates.values()] == ["failed", "not_run", "not_run"]
    assert engine.timed == 0
    assert not list(tmp_path.glob("capacity-*"))


def test_a_fault_ends_the_run_and_keeps_what_was_measured(tmp_path: Path) -> None:
    gates, fault = run(Engine(fails_at=3, failure=503), tmp_path)
    assert "HTTP 503" in str(fault)
    assert gates["functional/v1"].verdict == "passed"
    assert gates["capacity/v3"].verdict == "not_run"
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()[1:]]
    assert rows[-1]["reply"]["error_class"] == "http_status"
    assert sum(row["check"] == "capacity-200" for row in rows) == 3


def test_a_failed_request_is_a_caveat_and_stays(tmp_path: Path) -> None:
    gates, fault = run(Engine(fails_at=2, failure=400), tmp_path)
    assert fault is None
    assert gates["capacity/v3"].reason == "2/3 requests answered"
    assert gates["capacity/v3"].checks[0].verdict == "failed"
    document = json.loads((tmp_path / "capacity-1.json").read_text())
    assert (document["completed"], document["failures"][0]["class"], document["metrics"]["prompt_tokens"]["n"]) == (
        2,
        "http_status",
        2,
    )


@pytest.mark.parametrize(
    ("engine", "intrusions", "reason"),
    [
        (Engine(hits=100), (), "100 prompt tokens came from the engine's cache"),
        (Engine(extra_tokens=20), (), "not within 0.5 % of the 168 tokens asked for (one has 188, 11.90% off)"),
        (Engine(), ("omni runs again",), "the host was not ours alone: omni runs again"),
    ],
)
def test_figures_that_would_not_be_what_their_name_says(
    tmp_path: Path, engine: Engine, intrusions: tuple[str, ...], reason: str
) -> None:
    gates, _fault = run(engine, tmp_path, intrusions=intrusions)
    assert gates["capacity/v3"].verdict == "inconclusive"
    assert reason in gates["capacity/v3"].reason


def test_no_two_prompts_share_their_beginning(tmp_path: Path) -> None:
    engine = Engine()
    protocols = {"functional/v1": read_protocol("functional/v1"), "capacity/v3": read_protocol("capacity/v3")}
    profile = replace(PROFILE, quality=None)
    with scripted(engine) as server:
        documents = {name: protocol.document for name, protocol in protocols.items() if protocol}
        lane = LaneGates(
            suite_of(replace(DEMO, profile=(profile,))),
            documents,
            server.url,
            tmp_path,
            identity(),
            "s",
            lambda *_t, **_d: None,
            lambda _s: [],
        )
        lane.run()
        firsts = [
            body["messages"][0]["content"][:6]
            for _m, path, body in server.requests
            if path.endswith("completions") and len(body["messages"]) == 2
        ]
    assert len(firsts) == 4
    assert len(set(firsts)) == 4
