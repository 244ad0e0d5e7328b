"""Timings that users' tools got wrong (shapes after the public reports named at each): what may be timed, and what a lane says of the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Exchange
from ansible_collections.tandem.campaign.plugins.module_utils._api.replies import read_reply
from ansible_collections.tandem.campaign.plugins.module_utils._gates.capacity import (
    CapacityRun,
    capacity_document,
    judge_capacity,
    slow_first,
)
from ansible_collections.tandem.campaign.plugins.module_utils._gates.delivery import overstatement, untrusted_timing
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import CapacityGate

GATE = CapacityGate("capacity/v3", 24272, 12, 0, 256)
PROTOCOL = {"generation_starts_at": "first_visible", "margin_tokens": 16}
TARGET = 24000


def streamed(*events: tuple[float, dict[str, Any] | None], end_s: float, usage: int | None, cached: int = 0) -> Reply:
    """Deltas at their seconds, then finish, usage and [DONE] at ``end_s``; a delta of None is an error event."""
    pieces: list[tuple[int, dict[str, Any]]] = [
        (
            int(at * 1e9),
            {"choices": [{"delta": delta}]} if delta else {"error": {"message": "engine stopped", "code": 500}},
        )
        for at, delta in events
    ]
    broken = any(delta is None for _at, delta in events)
    if not broken:
        pieces.append((int(end_s * 1e9), {"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    if usage is not None:
        counts = {
            "prompt_tokens": TARGET,
            "completion_tokens": usage,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        pieces.append((int(end_s * 1e9), {"choices": [], "usage": counts}))
    lines = [(at, b"data: " + json.dumps(event).encode() + b"\n\n") for at, event in pieces]
    if not broken:
        lines.append((int(end_s * 1e9), b"data: [DONE]\n\n"))
    return read_reply(Exchange(200, "text/event-stream", tuple(lines), int(end_s * 1e9)), streamed=True)


def steady(first_s: float, count: int = 50, *, gap_s: float = 0.02, **more: Any) -> Reply:
    """A token a delta, ``gap_s`` apart; before it a delta that only tells the role."""
    deltas = [(first_s + number * gap_s, {"content": "word "}) for number in range(count)]
    last = deltas[-1][0]
    return streamed((0.01, {"role": "assistant"}), *deltas, end_s=last, **{"usage": count, **more})


def lane(*replies: Reply, warmups: tuple[Reply, ...] = (), target: int = TARGET) -> tuple[str, str, dict[str, Any]]:
    run = CapacityRun(warmups, replies, target, 10**9, "2026-01-01T00:00:00.000Z", None, None)
    document = capacity_document(run, GATE, PROTOCOL)
    json.dumps(document, allow_nan=False)
    return (*judge_capacity(run, document), document)


def test_the_role_is_no_output() -> None:
    """vllm-project/vllm#3768."""
    verdict, _reason, document = lane(steady(2.0))
    figures = document["metrics"]
    assert verdict == "passed"
    assert (figures["first_output_s"]["p50"], figures["first_visible_s"]["p50"]) == (2.0, 2.0)
    assert figures["decode_tok_s"]["p50"] == pytest.approx(50.0)


def test_a_stream_that_was_held_back_is_not_timed() -> None:
    """kekzl/imp#754."""
    burst = [(6.4 + number * 0.00003, {"content": "word "}) for number in range(64)]
    verdict, reason, document = lane(streamed(*burst, end_s=6.402, usage=64))
    assert verdict == "inconclusive"
    assert "the stream was buffered: 64 deltas with 64 tokens came within 1.9 ms" in reason
    figures = document["metrics"]
    assert (figures["first_output_s"]["p50"], figures["decode_tok_s"]["p50"], figures["decode_tok_s"]["missing"]) == (
        None,
        None,
        1,
    )
    assert (figures["e2e_s"]["p50"], figures["request_tok_s"]["p50"]) == (6.402, pytest.approx(64 / 6.402))


def test_a_parser_that_flushes_in_bursts_is_not_timed_unless_speculation_is_declared() -> None:
    """Nine deltas for 384 tokens between 5.5 and 6.36 s: 445 tokens a second where the lane does 60."""
    moments = (5.5, 5.55, 5.6, 5.65, 5.7, 5.75, 6.3, 6.33, 6.36)
    reply = streamed(
        *((at, {"reasoning": "part of it "}) for at in moments), (6.37, {"content": "4"}), end_s=6.38, usage=384
    )
    verdict, reason, document = lane(reply)
    assert verdict == "inconclusive"
    assert "burst delivery: 10 deltas for 384 tokens" in reason
    assert document["metrics"]["decode_tok_s"]["p50"] is None
    assert document["metrics"]["request_tok_s"]["p50"] == pytest.approx(60.2, abs=0.1)
    assert untrusted_timing(reply, speculative=True) is None


def test_tokens_by_the_chunk_are_timed_with_a_bound() -> None:
    """Four tokens a delta, evenly: (k - 1) / (n - k) is how much too high the rate is."""
    deltas = [(1.0 + number * 0.1, {"content": "four words of text "}) for number in range(64)]
    reply = streamed(*deltas, end_s=8.0, usage=256)
    verdict, _reason, document = lane(reply)
    assert verdict == "passed"
    assert overstatement(reply) == pytest.approx(3 / 252)
    assert document["delivery"]["decode_overstated_by_at_most"] == pytest.approx(3 / 252)
    true_rate = 4 / 0.1
    assert document["metrics"]["decode_tok_s"]["p50"] == pytest.approx(true_rate * (1 + 3 / 252))


def test_a_first_delta_that_held_much_back_is_not_timed() -> None:
    """A hundred deltas, of which the first one has half of the text."""
    deltas = [
        (1.0, {"reasoning": "word " * 200}),
        *((2.0 + number * 0.02, {"content": "two words "}) for number in range(99)),
    ]
    assert "burst delivery" in str(untrusted_timing(streamed(*deltas, end_s=4.0, usage=400), speculative=False))


def test_without_usage_there_is_no_rate() -> None:
    """TheTom/vllm-swift#19."""
    verdict, reason, document = lane(steady(0.8, usage=None))
    assert (verdict, "no usage" in reason) == ("inconclusive", True)
    assert document["metrics"]["first_output_s"]["p50"] == 0.8
    assert (document["metrics"]["decode_tok_s"]["p50"], document["metrics"]["decode_tok_s"]["missing"]) == (None, 1)


def test_warm_prompts_say_nothing_of_cold_ones() -> None:
    """vllm-project/vllm#54227."""
    verdict, reason, document = lane(steady(2.3), *(steady(0.06, cached=23984) for _number in range(11)))
    assert verdict == "inconclusive"
    assert "11 of 12 prompts were warm (99.9% of their tokens from the engine's cache)" in reason
    assert "rests on 1" in reason
    figures = document["metrics"]["first_output_s"]
    assert (figures["n"], figures["missing"], figures["p50"]) == (1, 11, 2.3)
    assert document["warm_first_output_p50_s"] == 0.06


def test_a_length_that_was_not_reached() -> None:
    """gpustack/gpustack#4560."""
    verdict, reason, _document = lane(replace(steady(3.1), prompt_tokens=29804), target=32768)
    assert verdict == "inconclusive"
    assert "32768 tokens asked for (one has 29804, 9.05% off): the length was not reached" in reason


def test_one_token_has_no_rate() -> None:
    """GoogleCloudPlatform/ai-on-gke#902."""
    verdict, _reason, document = lane(streamed((0.35, {"content": "4"}), end_s=0.35, usage=1))
    figures = document["metrics"]
    assert (verdict, figures["first_output_s"]["p50"]) == ("passed", 0.35)
    assert (figures["decode_tok_s"]["n"], figures["decode_tok_s"]["missing"], figures["decode_tok_s"]["p50"]) == (
        0,
        1,
        None,
    )


def test_an_error_in_the_stream_is_a_failed_request_whose_part_is_kept() -> None:
    """gpustack/gpustack#1677."""
    reply = streamed(
        *((1 + number * 0.1, {"content": "word "}) for number in range(20)), (3.1, None), end_s=3.1, usage=None
    )
    assert (reply.error_class, reply.content, reply.first_output_ns) == ("stream_error", "word " * 20, 10**9)
    assert "failed after 20 pieces of output and is incomplete" in str(reply.error)
    verdict, _reason, document = lane(reply, steady(1.0))
    assert (verdict, document["completed"], document["failed"], document["metrics"]["e2e_s"]["n"]) == (
        "passed",
        1,
        1,
        1,
    )


def test_a_first_request_that_compiles_is_kept_and_labelled() -> None:
    """vllm-project/vllm#16858."""
    verdict, _reason, document = lane(steady(38.0), *(steady(2.2) for _number in range(11)))
    figures = document["metrics"]["first_output_s"]
    assert (verdict, figures["p50"], figures["maximum"]) == ("passed", 2.2, 38.0)
    assert "took 38.00 s to its first output, the median is 2.20 s" in str(slow_first(document))
    _verdict, _reason, document = lane(*(steady(2.2) for _number in range(12)), warmups=(steady(38.0),))
    assert (slow_first(document), document["first_request"]["first_output_s"]) == (None, 38.0)
    assert document["metrics"]["first_output_s"]["maximum"] == 2.2
