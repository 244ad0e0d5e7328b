"""Streams and bodies of several engines in one shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Exchange
from ansible_collections.tandem.campaign.plugins.module_utils._api.replies import gaps_us, read_reply
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply


def chunk(delta: dict[str, Any] | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": more.pop("finish", None)}]
    return b"data: " + json.dumps({"model": "m", "choices": choices, **more}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = chunk(None, usage={"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}})


def streamed(*pieces: bytes) -> Reply:
    """Piece n was read at n ms."""
    timed = tuple((number * 1_000_000, piece) for number, piece in enumerate(pieces, start=1))
    return read_reply(Exchange(200, "text/event-stream", timed, (len(pieces) + 1) * 1_000_000), streamed=True)


def test_moments() -> None:
    reply = streamed(
        chunk({"role": "assistant", "content": ""}), chunk({"reasoning": "hm"}), chunk({"content": "Pa"}), chunk({"content": "ris"}),
        chunk({}, finish="stop"), USAGE, DONE,
    )  # fmt: skip
    assert (reply.first_output_ns, reply.first_visible_ns, reply.last_output_ns) == (2_000_000, 3_000_000, 4_000_000)
    assert (reply.content, reply.reasoning, reply.reasoning_field, reply.finish_reason) == (
        "Paris",
        "hm",
        "reasoning",
        "stop",
    )
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.done_marker) == (9, 4, 2, True)
    assert reply.error_class is None
    assert reply.gaps_us == (1000, 1000)


def test_rounding_does_not_add_up() -> None:
    assert gaps_us([10, 410, 810, 1210]) == (0, 1, 0)
    assert gaps_us([]) == gaps_us([5]) == ()


def test_the_other_reasoning_field_and_split_lines() -> None:
    whole = chunk({"reasoning_content": "hm"}) + chunk({"content": "x"}) + USAGE
    reply = streamed(whole[:20], whole[20:])
    assert (reply.reasoning_field, reply.first_output_ns, reply.content) == ("reasoning_content", 2_000_000, "x")


def test_an_empty_delta_is_no_output() -> None:
    reply = streamed(chunk({"content": ""}), b": comment\n\n", chunk({"content": "x"}), DONE)
    assert reply.first_output_ns == 3_000_000


def test_reasoning_that_takes_the_whole_allowance() -> None:
    reply = streamed(chunk({"reasoning": "hm"}), chunk({}, finish="length"), USAGE, DONE)
    assert reply.error_class == "reasoning_exhausted"
    assert not reply.is_infrastructure


def test_an_error_event_after_200() -> None:
    reply = streamed(chunk({"content": "x"}), b'data: {"error": {"message": "boom"}}\n\n', DONE)
    assert reply.error_class == "stream_error"
    assert "boom" in str(reply.error)


def test_no_json_is_malformed() -> None:
    assert streamed(b"data: {oops\n\n").error_class == "malformed"


def test_nothing_visible() -> None:
    assert streamed(chunk({}, finish="stop"), DONE).error_class == "no_visible_answer"


def test_tool_fragments_are_joined_by_index() -> None:
    def tool(index: int, **more: Any) -> bytes:
        return chunk({"tool_calls": [{"index": index, **more}]})

    reply = streamed(
        tool(0, id="a", function={"name": "f", "arguments": ""}), tool(1, id="b", function={"name": "g", "arguments": "{}"}),
        tool(0, id=None, function={"name": None, "arguments": '{"x":'}), tool(0, function={"arguments": "1}"}), DONE,
    )  # fmt: skip
    assert [(call["id"], call["ids"], call["name"], call["arguments"]) for call in reply.tool_calls] == [
        ("a", ["a"], "f", '{"x":1}'),
        ("b", ["b"], "g", "{}"),
    ]


@pytest.mark.parametrize("status", [400, 500])
def test_an_http_error(status: int) -> None:
    reply = read_reply(Exchange(status, "", ((1, b"no"),), 2), streamed=True)
    assert (reply.error_class, reply.status) == ("http_status", status)


def test_a_cut_stream_keeps_its_class() -> None:
    reply = read_reply(Exchange(200, "", ((1, chunk({"content": "x"})),), 2, "cut", "gone"), streamed=True)
    assert (reply.error_class, reply.content) == ("cut", "x")
    assert reply.is_infrastructure


def test_a_whole_body() -> None:
    document = {
        "model": "m",
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"completion_tokens": 1},
    }
    reply = read_reply(Exchange(200, "", ((5, json.dumps(document).encode()),), 6), streamed=False)
    assert (reply.content, reply.finish_reason, reply.completion_tokens, reply.first_visible_ns) == ("x", "stop", 1, 6)


def usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 9, "completion_tokens": tokens}


def test_tokens_at_the_first_delta_where_the_server_counts_along() -> None:
    reply = streamed(
        chunk({"reasoning": "a b c"}, usage=usage(3)), chunk({"content": "Pa"}, usage=usage(8)), chunk({"content": "ris"}, usage=usage(9)),
        chunk({}, finish="stop", usage=usage(9)), DONE,
    )  # fmt: skip
    assert (reply.tokens_at_first_output, reply.tokens_at_first_visible, reply.completion_tokens) == (3, 8, 9)


def test_a_count_at_the_end_says_nothing_of_the_first_delta() -> None:
    reply = streamed(chunk({"content": "Pa"}), chunk({"content": "ris"}), chunk({}, finish="stop"), USAGE, DONE)
    assert (reply.tokens_at_first_output, reply.tokens_at_first_visible) == (None, None)
    alone = streamed(chunk({"content": "Paris"}), USAGE, DONE)
    assert (alone.tokens_at_first_output, alone.completion_tokens) == (None, 4)
