"""The readers held against what real engines answered: vLLM 0.25.1 over two GPUs, and llama.cpp's server."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api.replies import read_reply
from ansible_collections.tandem.campaign.plugins.module_utils._api.responses import read_responses
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import ErrorClass, Reply
from ansible_collections.tandem.campaign.tests.fakes.recordings import LLAMA_CPP, VLLM, exchange


def chat(engine: str, name: str) -> Reply:
    kept = exchange(engine, name)
    return read_reply(kept, streamed=kept.content_type.startswith("text/event-stream"))


@pytest.mark.parametrize(("engine", "cached"), [(VLLM, None), (LLAMA_CPP, 0)])
def test_a_whole_answer(engine: str, cached: int | None) -> None:
    reply = chat(engine, "known-answer")
    assert (reply.content, reply.finish_reason) == ("The capital of France is Paris.", "stop")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (42, 8, cached)
    assert (reply.reasoning, reply.reasoning_field, reply.reasoning_tokens, reply.error_class) == ("", None, None, None)
    assert '"Paris"' in chat(engine, "json-schema").content


@pytest.mark.parametrize(("engine", "tokens", "finish"), [(VLLM, 29, "stop"), (LLAMA_CPP, 40, "length")])
def test_a_stream_is_timed_from_its_first_text_and_not_from_the_role(engine: str, tokens: int, finish: str) -> None:
    """vLLM's first delta has the role and an empty text, llama.cpp's the role and null; usage stands in a last event without choices."""
    kept, reply = exchange(engine, "stream"), chat(engine, "stream")
    assert (reply.completion_tokens, reply.finish_reason, reply.done_marker) == (tokens, finish, True)
    assert abs(reply.chunks - tokens) <= 1
    first_text = next(at for at, piece in kept.pieces if b'"content":"' in piece and b'"content":""' not in piece)
    assert reply.first_output_ns == reply.first_visible_ns == first_text
    assert reply.last_output_ns is not None
    assert first_text < reply.last_output_ns < reply.end_ns
    assert kept.pieces[0][0] <= first_text


def test_a_long_prompt_s_stream() -> None:
    reply = chat(VLLM, "capacity-05")
    assert reply.prompt_tokens in range(6738, 6742)
    assert reply.error_class is None
    assert chat(VLLM, "tool-result").finish_reason == "length"


@pytest.mark.parametrize("engine", [VLLM, LLAMA_CPP])
def test_a_model_without_a_tool_format_answers_in_text(engine: str) -> None:
    reply = chat(engine, "tools-auto")
    assert (reply.tool_calls, reply.finish_reason) == ((), "length")
    assert reply.content.startswith("Paris, the City of Light")


def test_a_stream_that_fails_after_200_is_no_success_although_it_ends_with_done() -> None:
    reply = chat(VLLM, "tools-required-stream")
    assert (reply.status, reply.done_marker, reply.error_class, reply.content) == (200, True, "stream_error", "")
    assert "Internal server error" in str(reply.error)


@pytest.mark.parametrize(
    ("engine", "name", "status", "kind"),
    [
        (VLLM, "tools-required", 500, "http_status"),
        (VLLM, "wrong-model", 404, "http_status"),
        (VLLM, "bad-json", 400, "http_status"),
        (LLAMA_CPP, "bad-json", 400, "http_status"),
        (VLLM, "too-long", 400, "too_long"),
        (LLAMA_CPP, "too-long", 400, "too_long"),
    ],
)
def test_refusals_carry_their_status_and_the_server_s_words(
    engine: str, name: str, status: int, kind: ErrorClass
) -> None:
    reply = chat(engine, name)
    assert (reply.status, reply.error_class, reply.is_infrastructure) == (status, kind, True)
    assert str(reply.error).startswith(f'HTTP {status}: {{"error":')


@pytest.mark.parametrize(("engine", "tokens"), [(VLLM, (37, 22, 16)), (LLAMA_CPP, (42, 8, 27))])
def test_responses(engine: str, tokens: tuple[int, int, int]) -> None:
    reply = read_responses(exchange(engine, "responses"))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == tokens
    assert (reply.finish_reason, reply.error_class, reply.reasoning) == ("completed", None, "")
    assert reply.content


def test_a_responses_stream_is_not_mistaken_for_a_document() -> None:
    """The gates ask for whole documents; a server that streams all the same is named, not guessed at."""
    reply = read_responses(exchange(VLLM, "responses-stream"))
    assert (reply.error_class, reply.content) == ("malformed", "")
