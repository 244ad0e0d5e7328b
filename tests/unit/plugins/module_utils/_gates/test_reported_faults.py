"""Faults that users reported of real servers (shape of the answers after the public reports named at each): what the gate makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Exchange
from ansible_collections.tandem.campaign.plugins.module_utils._api.replies import read_reply
from ansible_collections.tandem.campaign.plugins.module_utils._api.responses import read_responses
from ansible_collections.tandem.campaign.plugins.module_utils._gates.functional import run_check
from ansible_collections.tandem.campaign.plugins.module_utils._gates.session import Session
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import Reasoning
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import CheckResult

OFF = Reasoning()
PARSERS = "--tool-call-parser hermes"
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
OSLO = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
TOOL_CHECK = {
    "probe": "tool_call",
    "prompt": "Weather in Oslo?",
    "max_tokens": 99,
    "tools": TOOLS,
    "calls": OSLO,
    "stream": True,
}
QUESTION = {
    "probe": "known_answer",
    "prompt": "Reply with the number only: 2 + 2",
    "pattern": r"\b4\b",
    "max_tokens": 99,
}


class Told(Session):
    """A session whose requests get the given replies, in order."""

    def __init__(self, *replies: Reply, reasoning: Reasoning = OFF) -> None:
        self.asked, self.replies, self.reasoning, self.parsers = [], [], reasoning, PARSERS
        self.left = list(replies)

    def chat(self, *_args: Any, **_options: Any) -> Reply:
        self.asked.append(len(self.asked))
        self.replies.append(self.left.pop(0))
        return self.replies[-1]

    def responses(self, *_args: Any, **_options: Any) -> Reply:
        return self.chat()


def stream(
    *deltas: dict[str, Any], finish: str | None = "stop", every: str | None = None, usage: int | None = 20
) -> Reply:
    """A stream of the deltas; ``every``: the finish reason that stands in each of them."""
    events: list[dict[str, Any]] = [
        {"choices": [{"delta": delta, "finish_reason": every}]}
        for delta in ({"role": "assistant", "content": None}, *deltas)
    ]
    events.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    if usage is not None:
        events.append({"choices": [], "usage": {"prompt_tokens": 24, "completion_tokens": usage}})
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    return read_reply(Exchange(200, "text/event-stream", ((1, body),), 2), streamed=True)


def whole(finish: str = "stop", usage: dict[str, Any] | None = None, **message: Any) -> Reply:
    document = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage or {"completion_tokens": 9}}
    return read_reply(Exchange(200, "application/json", ((1, json.dumps(document).encode()),), 2), streamed=False)


def tool(
    arguments: str, index: int = 0, identifier: str | None = "call_a1", name: str | None = "get_weather"
) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": identifier, "function": {"name": name, "arguments": arguments}}]}


def responses(*items: dict[str, Any]) -> Reply:
    document = {"status": "completed", "output": items, "usage": {"input_tokens": 24, "output_tokens": 6}}
    return read_responses(Exchange(200, "application/json", ((1, json.dumps(document).encode()),), 2))


def looked(settings: dict[str, Any], *replies: Reply, reasoning: Reasoning = OFF) -> CheckResult:
    return run_check(Told(*replies, reasoning=reasoning), "check", "required", settings)


def test_a_loop_is_named_with_fragment_and_share() -> None:
    """NVIDIA/cutlass#3096."""
    result = looked(QUESTION, whole("length", content="lock handle " * 60))
    assert result.verdict == "failed"
    assert "repeats itself: 'lock handle' repeated 60 times, 100% of all words" in result.reason
    assert "finish reason length" in result.reason


def test_another_language_is_named_and_not_called_broken() -> None:
    """A Chinese answer with the right fact for an English question."""
    answer = "\u6cd5\u56fd\u7684\u9996\u90fd\u662f\u5df4\u9ece\uff0c\u8fd9\u662f\u4e00\u5ea7\u7f8e\u4e3d\u7684\u57ce\u5e02\u3002"
    settings = {
        **QUESTION,
        "prompt": "In one English sentence: what is the capital of France?",
        "pattern": "\u5df4\u9ece",
    }
    result = looked(settings, whole(content=answer))
    assert result.verdict == "failed"
    assert "another language than English" in result.reason
    assert "corrupt" not in result.reason


@pytest.mark.parametrize("content", [None, ""])
def test_no_answer_in_spite_of_tokens(content: str | None) -> None:
    result = looked(QUESTION, whole(content=content))
    assert result.verdict == "failed"
    assert "no visible text" in result.reason
    assert "finish reason stop, 9 completion tokens" in result.reason


@pytest.mark.parametrize(
    ("pattern", "content"),
    [("^(yes ?){5}$", "yes yes yes yes yes"), (r"^\[(0,?){12}\]$", "[0,0,0,0,0,0,0,0,0,0,0,0]"), (r"\b4\b", "4.")],
)
def test_repetition_that_was_asked_for_passes(pattern: str, content: str) -> None:
    assert looked({**QUESTION, "pattern": pattern}, whole(content=content)).verdict == "passed"


def test_arguments_that_come_twice() -> None:
    """vllm-project/vllm#51697."""
    one = '{"city": "Oslo"}'
    reply = stream(
        tool(""), tool(one, identifier=None, name=None), tool(one, identifier=None, name=None), finish="tool_calls"
    )
    result = looked(TOOL_CHECK, reply)
    assert result.verdict == "failed"
    assert "arguments that are not one JSON value but the same object twice (duplicate)" in result.reason
    assert reply.tool_calls[0]["fragments"] == [one, one]


def test_arguments_in_many_fragments_pass() -> None:
    """vllm-project/vllm#43267."""
    parts = [tool(part, identifier=None, name=None) for part in ('{"ci', 'ty"', ": ", '"O', "sl", 'o"', "}")]
    assert looked(TOOL_CHECK, stream(tool(""), *parts, finish="tool_calls")).verdict == "passed"


def test_two_calls_on_one_index() -> None:
    """ai-dynamo/dynamo#4723."""
    second = tool('{"zone": "Europe/Oslo"}', identifier="call_d2", name="get_time")
    result = looked(TOOL_CHECK, stream(tool('{"city": "Oslo"}', identifier="call_d1"), second, finish="tool_calls"))
    assert result.verdict == "failed"
    assert "2 different ids on tool call index 0: call_d1, call_d2 (get_weather, get_time)" in result.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
            ("tool markup '<tool_call>'", PARSERS),
        ),
        ('{"name": "get_weather", "arguments": {"city": "Oslo"}}', ("stands in the visible text", "parser")),
    ],
)
def test_a_call_as_plain_text(text: str, words: tuple[str, ...]) -> None:
    """sgl-project/sglang#17558."""
    result = looked(TOOL_CHECK, stream({"content": text}))
    assert result.verdict == "failed"
    assert all(word in result.reason for word in words), result.reason


def test_calls_that_end_with_stop() -> None:
    """sgl-project/sglang#7708."""
    result = looked(TOOL_CHECK, stream(tool('{"city": "Oslo"}')))
    assert (result.verdict, "finish reason 'stop' with tool calls" in result.reason) == ("failed", True)


def test_empty_finish_reasons_are_a_caveat() -> None:
    """sgl-project/sglang#8417: the last reason that is none of them counts."""
    result = looked(TOOL_CHECK, stream(tool('{"city": "Oslo"}'), finish="tool_calls", every=""))
    assert result.verdict == "passed"
    assert result.caveats == ("2 events have an empty string for a finish reason",)


def test_unterminated_arguments_are_shown_as_they_are() -> None:
    """vllm-project/vllm#57699."""
    result = looked(TOOL_CHECK, stream(tool('{"city": '), finish="tool_calls", usage=61))
    assert (result.verdict, "arguments that are unterminated JSON: '{\"city\": '" in result.reason) == ("failed", True)


def test_a_call_swallowed_by_the_reasoning_channel() -> None:
    """vllm-project/vllm#35687."""
    thoughts = [
        {"reasoning": text} for text in ("secret thought ", "<tool_call>", '{"name": "get_weather"}', "</tool_call>")
    ]
    result = looked(TOOL_CHECK, stream(*thoughts), reasoning=Reasoning("on"))
    assert result.verdict == "failed"
    assert "tool markup '<tool_call>' inside the reasoning channel of 61 characters" in result.reason
    assert "secret" not in result.reason


def test_a_refused_continuation() -> None:
    """vllm-project/vllm#25108."""
    settings = {
        "probe": "tool_result",
        "prompt": "Weather?",
        "max_tokens": 9,
        "tools": TOOLS,
        "call": OSLO[0],
        "result": "13",
        "pattern": "13",
    }
    body = b'{"error": {"message": "chat template: only single tool calls are supported"}}'
    result = looked(settings, read_reply(Exchange(400, "", ((1, body),), 2), streamed=True))
    assert result.verdict == "failed"
    assert "continuation with the tool's result failed: http_status: HTTP 400" in result.reason
    assert "only single tool calls" in result.reason


def test_thinking_in_the_answer_is_not_stripped_and_not_published() -> None:
    """vllm-project/vllm#13375."""
    result = looked({**QUESTION, "pattern": "391"}, whole(content="The user wants 17 times 23.</think>391"))
    assert result.verdict == "failed"
    assert "reasoning marker '</think>' in the visible text" in result.reason
    assert "The user wants" not in result.reason


def test_both_names_of_the_reasoning_field_are_one() -> None:
    """vllm-project/vllm#50624."""
    old, new = (stream({name: "hm"}, {"content": "4"}) for name in ("reasoning_content", "reasoning"))
    assert (old.reasoning_field, new.reasoning_field) == ("reasoning_content", "reasoning")
    assert vars(old) | {"reasoning_field": None} == vars(new) | {"reasoning_field": None}


def test_an_effort_without_effect() -> None:
    """vllm-project/vllm#39581."""
    usage = {"completion_tokens": 853, "completion_tokens_details": {"reasoning_tokens": 850}}
    shown = whole(content="4", reasoning="t " * 850, usage=usage)
    result = looked(QUESTION, shown, reasoning=Reasoning("off", effort="none"))
    assert (result.verdict, result.reason) == ("failed", "reasoning came with effort none: 1700 characters, 850 tokens")
    assert looked(QUESTION, shown, reasoning=Reasoning("effort", effort="low")).verdict == "passed"
    hidden = looked(QUESTION, whole(content="4", usage=usage), reasoning=Reasoning("off", effort="none"))
    assert "850 of 853 tokens" in hidden.reason


def test_visible_tokens_counted_as_reasoning_are_a_caveat() -> None:
    """The published campaign's Inkling with effort none: 10 of 11 tokens called reasoning, all of them visible."""
    usage = {"completion_tokens": 5, "reasoning_tokens": 4}
    result = looked(
        QUESTION, whole(content="It is 4, of course.", usage=usage), reasoning=Reasoning("off", effort="none")
    )
    assert result.verdict == "passed"
    assert result.caveats == ("the engine counts 4 reasoning tokens for an answer whose tokens may all be visible",)


RESPONSES = {"probe": "responses_text", "prompt": "17 x 23?", "pattern": "391", "max_tokens": 99}


def test_responses_with_reasoning_only() -> None:
    """vllm-project/vllm#24184."""
    result = looked(
        RESPONSES,
        responses({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "short"}]}),
        reasoning=Reasoning("on"),
    )
    assert result.verdict == "failed"
    assert "Responses: no message with text and no call (status completed, output: reasoning)" in result.reason


def test_responses_with_channel_markers() -> None:
    """vllm-project/vllm#49281."""
    text = "<|channel|>analysis<|message|>secret thought<|channel|>final<|message|>391"
    result = looked(RESPONSES, responses({"type": "message", "content": [{"type": "output_text", "text": text}]}))
    assert result.verdict == "failed"
    assert "reasoning marker '<|channel|>'" in result.reason
    assert "secret" not in result.reason


@pytest.mark.parametrize(
    "body",
    [b"[]", b"1", b'{"choices": [1]}', b'{"choices": {"a": 1}}', b'{"choices": [{"message": []}]}', b'{"choices": [{"message": {"content": 5}}]}',
     b'{"choices": [{"message": {"tool_calls": [1, {"index": "x", "function": 7}]}}], "usage": {"completion_tokens_details": 3}}',
     b'{"output": 1}', b'{"output": [1, {"type": "message", "content": 5}], "usage": []}'],
)  # fmt: skip
def test_hostile_documents_are_answers_and_no_crash(body: bytes) -> None:
    exchange = Exchange(200, "application/json", ((1, body),), 2)
    for reply in (
        read_reply(exchange, streamed=False),
        read_reply(Exchange(200, "", ((1, b"data: " + body + b"\n\n"),), 2), streamed=True),
        read_responses(exchange),
    ):
        result = looked(QUESTION, reply)
        assert result.verdict == "failed"
