"""Every check passes on a right answer, fails on a wrong one, and a broken transport is never a verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Client
from ansible_collections.tandem.campaign.plugins.module_utils._engine.adapters import ADAPTERS
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import Lines
from ansible_collections.tandem.campaign.plugins.module_utils._gates.functional import run_check
from ansible_collections.tandem.campaign.plugins.module_utils._gates.session import Session
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import Reasoning
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import CheckResult
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import read_protocol
from ansible_collections.tandem.campaign.tests.fakes.server import Scripted, completion, scripted

PROTOCOL = read_protocol("functional/v1")
assert PROTOCOL is not None
CHECKS: dict[str, Any] = PROTOCOL.document["check"]
PROSE = (
    "Leaves are green because they contain chlorophyll, a green pigment that allows them to absorb sunlight and convert it into energy for the "
    "plant, and this process is called photosynthesis by those who study it."
)
Reply = Callable[[dict[str, Any]], tuple[int, Any]]


def call(city: str, name: str = "get_weather") -> dict[str, Any]:
    return {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps({"city": city})},
    }


def says(text: str, **more: Any) -> Reply:
    return lambda body: (200, completion(text, stream=body["stream"], **more))


def calls(*items: dict[str, Any], finish: str = "tool_calls") -> Reply:
    numbered = [{**item, "index": number, "id": f"call_{number}"} for number, item in enumerate(items)]
    return lambda body: (200, completion("", stream=body["stream"], finish=finish, tool_calls=numbered))


def finds_the_code(body: dict[str, Any]) -> tuple[int, Any]:
    text = body["messages"][0]["content"]
    return 200, completion(text[text.index("KITE-") :][:9], stream=body["stream"])


def calls_the_asked_city(body: dict[str, Any]) -> tuple[int, Any]:
    city = body["messages"][-1]["content"].split(" in ")[1].split(" right")[0]
    return calls(call(f"{city}, Earth"))(body)


def changes_its_mind() -> Reply:
    count = [0]

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        count[0] += 1
        return 200, completion("Paris." if count[0] % 2 else "It is Paris.", stream=body["stream"])

    return reply


def responses(text: str = "", *items: dict[str, Any]) -> Reply:
    output = [{"type": "message", "content": [{"type": "output_text", "text": text}]}] if text else []
    return lambda _body: (200, {"status": "completed", "output": [*output, *items]})


FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Oakland"}'}

#: check -> (what passes, what fails and the word that the reason has to have).
CASES: dict[str, tuple[Reply, list[tuple[Reply, str]]]] = {
    "known_answer": (
        says("It is Paris."),
        [
            (says("Lyon"), "has no"),
            (changes_its_mind(), "different answers"),
            (says(""), "no_visible_answer"),
            (says("", finish="length"), "length"),
        ],
    ),
    "coding_smoke": (
        says("```python\ndef add(a, b):\n    return a + b\n```"),
        [
            (says("def add(a, b):\n    return a - b"), "has no"),
            (says("def add(a):\n    return a + b"), "has no"),
            (says("a + b"), "has no"),
        ],
    ),
    "json_schema": (
        says('{"city": "Paris", "country": "France"}'),
        [
            (says('{"city": "Lyon", "country": "France"}'), "city is"),
            (says('{"city": "Paris"}'), "lacks"),
            (says("Paris"), "no JSON"),
        ],
    ),
    "json_object": (
        says('{"language": "python", "ok": true}'),
        [
            (says('{"language": "python", "ok": "yes"}'), "no boolean"),
            (says('["python"]'), "no object"),
            (says("```json\n{}\n```"), "no JSON"),
        ],
    ),
    "streaming": (
        says(PROSE),
        [
            (
                lambda body: (200, completion(PROSE if body["stream"] else "Other words here", stream=body["stream"])),
                "unstreamed",
            ),
            (lambda body: (200, completion("x", stream=body["stream"])), "more than one piece"),
            (
                lambda body: (
                    200,
                    completion(PROSE, stream=True).replace(b"data: [DONE]", b": end")
                    if body["stream"]
                    else completion(PROSE, stream=False),
                ),
                "[DONE]",
            ),
        ],
    ),
    "retrieval_1k": (
        finds_the_code,
        [(says("KITE-0000"), "was not found"), (says("There is no code."), "was not found")],
    ),
    "coherence": (
        says(PROSE),
        [(says("wis " * 60), "repeated"), (says("-" * 90), "in a row"), (says("\ufffd\ufffd the"), "multi-byte")],
    ),
    "tool_call": (
        calls(call("Oakland")),
        [
            (says("It is sunny."), "0 tool calls"),
            (calls(call("Paris")), "not wanted"),
            (calls(call("Oakland"), finish="stop"), "finish reason 'stop'"),
        ],
    ),
    "tool_batch": (
        calls_the_asked_city,
        [(calls(call("Oakland")), "1 clean, then"), (calls(call("Oakland", "weather")), "0 clean, then")],
    ),
    "tool_stream": (
        calls(call("Lisbon")),
        [(says("Sunny"), "0 tool calls"), (calls(call("Lisbon"), call("Lisbon")), "2 tool calls")],
    ),
    "tool_parallel": (calls(call("Lisbon"), call("Oakland")), [(calls(call("Oakland")), "1 tool calls, 2 wanted")]),
    "tool_result": (
        says("It is 13 degrees with fog."),
        [(says("I can't know."), "has no"), (says(""), "no_visible_answer")],
    ),
    "responses_text": (
        responses("Paris"),
        [
            (responses(""), "no message"),
            (responses("<think>hm</think> Paris"), "reasoning marker"),
            (lambda _body: (404, {}), "HTTP 404"),
        ],
    ),
    "responses_tool": (responses("", FUNCTION_CALL), [(responses("Sunny"), "0 tool calls")]),
    "responses_result": (
        responses("13 degrees and fog"),
        [
            (responses("I can't know"), "has no"),
            (lambda _body: (400, {}), "continuation with the tool's result failed"),
        ],
    ),
}


@contextmanager
def session(reply: Reply, folder: Path) -> Iterator[tuple[Session, Scripted]]:
    def script(_method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/apply-template":
            return 200, {"prompt": body["messages"][0]["content"]}
        if path == "/tokenize":
            return 200, {"tokens": body["content"].split()}
        return reply(body)

    with scripted(script) as server:
        rows = Lines(folder / "rows.jsonl", {})
        yield (
            Session(
                Client(server.url),
                ADAPTERS["llama_cpp"],
                "m",
                "off",
                Reasoning(),
                rows,
                lambda *_text, **_data: None,
                seed="s",
                timeout_s=10,
            ),
            server,
        )
        rows.close()


def check(name: str, reply: Reply, folder: Path) -> CheckResult:
    with session(reply, folder) as (one, _server):
        return run_check(one, name, "required", CHECKS[name])


def test_every_check_of_the_protocol_has_its_cases() -> None:
    # The same probes with other lengths.
    assert set(CHECKS) - {"retrieval_30k", "coherence_short"} == set(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_right_answer_passes(name: str, tmp_path: Path) -> None:
    result = check(name, CASES[name][0], tmp_path)
    assert result.verdict == "passed", result.reason
    assert result.rows


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name in sorted(CASES) for number in range(len(CASES[name][1]))]
)
def test_a_wrong_answer_fails_with_its_reason(name: str, number: int, tmp_path: Path) -> None:
    reply, word = CASES[name][1][number]
    result = check(name, reply, tmp_path)
    assert result.verdict == "failed", result.reason
    assert word in result.reason


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_5xx_is_no_verdict(name: str, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="HTTP 500"):
        check(name, lambda _body: (500, {"error": "boom"}), tmp_path)


def test_a_4xx_is_the_engine_s_answer(tmp_path: Path) -> None:
    result = check("tool_call", lambda _body: (400, {"error": "tools are not supported"}), tmp_path)
    assert (result.verdict, "HTTP 400" in result.reason) == ("failed", True)


def test_a_check_that_inspected_nothing_is_inconclusive(tmp_path: Path) -> None:
    with session(says("x"), tmp_path) as (one, _server):
        assert (
            run_check(one, "empty", "required", {"probe": "coherence", "prompts": [], "max_tokens": 1}).verdict
            == "inconclusive"
        )


def test_sampling_is_explicit_and_every_request_is_a_row(tmp_path: Path) -> None:
    with session(says("Paris"), tmp_path) as (one, server):
        run_check(one, "known_answer", "required", CHECKS["known_answer"])
    bodies = [body for _method, path, body in server.requests if path.endswith("completions")]
    assert all((body["temperature"], body["top_p"], body["seed"]) == (0, 1, 1) for body in bodies)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()[1:]]
    assert [(row["index"], row["check"], row["reply"]["content"]) for row in rows] == [
        (0, "known_answer", "Paris"),
        (1, "known_answer", "Paris"),
    ]
