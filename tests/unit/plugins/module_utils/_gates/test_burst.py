# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Burst: queueing is seen where there is some and not where there is none; faults of a few are told, and never end the lane."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Client
from ansible_collections.tandem.campaign.plugins.module_utils._engine.adapters import endpoint_adapter
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import Lines
from ansible_collections.tandem.campaign.plugins.module_utils._gates.burst import (
    burst_document,
    generating_at_once,
    judge_burst,
    run_burst,
)
from ansible_collections.tandem.campaign.plugins.module_utils._gates.session import Session
from ansible_collections.tandem.campaign.plugins.module_utils._gates.together import Sent
from ansible_collections.tandem.campaign.plugins.module_utils._gates.verdicts import judge_lane
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import InputError
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import (
    BurstGate,
    CapacityGate,
    FunctionalGate,
    Profile,
    Reasoning,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import check_profiles, read_protocol
from ansible_collections.tandem.campaign.tests.fakes.played.behaviour import Behaviour, Fault
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import SEEDS, artifact, playing, rehearse

GATE = BurstGate("burst/v1", 2048, concurrency=4, max_tokens=64)
#: 0.1 s of prefill, then 64 tokens in 0.25 s.
PLAYED = Behaviour(prefill_tok_s=20_000, decode_tok_s=256, answer_tokens=64, overhead_s=0.0)
LAST: dict[str, Any] = {"path": "/v1/chat", "match": "what was delivered"}


def probed(folder: Path, behaviour: Behaviour, admission: int) -> tuple[dict[str, Any], str, str]:
    protocol = read_protocol("burst/v1")
    assert protocol
    rows = Lines(folder / "rows.jsonl", {})
    with playing(behaviour, 4096, admission) as url:
        session = Session(
            Client(url),
            endpoint_adapter(behaviour.flavour),
            "m",
            "off",
            Reasoning("off"),
            rows,
            lambda *_a, **_k: None,
            4096,
            seed="s",
        )
        run = run_burst(session, GATE, protocol.document)
    rows.close()
    document = burst_document(run, GATE)
    return document, *judge_burst(run, document)


@pytest.mark.parametrize("flavour", ["vllm", "llama_cpp"])
def test_those_that_stand_in_line(flavour: Any, tmp_path: Path) -> None:
    document, verdict, reason = probed(tmp_path, replace(PLAYED, flavour=flavour), 1)
    assert verdict == "passed", reason
    assert document["generating_at_once"] == 1
    assert document["most_waiting"] == 3
    # First outputs at 1, 2, 3 and 4 turns: the second of four, by nearest rank, waited for one whole turn at least.
    assert document["slowdown"] > 2.5
    assert reason.startswith("4 sent together, 1 generating at once, 3 waiting at most by the engine's own count;")


def test_those_that_are_served_together(tmp_path: Path) -> None:
    document, verdict, reason = probed(tmp_path, replace(PLAYED, flavour="sglang"), 4)
    assert verdict == "passed", reason
    assert (document["generating_at_once"], document["most_waiting"]) == (4, None)
    assert document["slowdown"] < 2.0


def test_moments_count_from_the_first_sent(tmp_path: Path) -> None:
    document, _verdict, _reason = probed(tmp_path, PLAYED, 1)
    sent = document["together"]
    assert min(one["sent_s"] for one in sent) == 0
    ends = sorted(one["end_s"] for one in sent)
    assert all(later - earlier > 0.2 for earlier, later in itertools.pairwise(ends))
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["check"] for row in rows if "check" in row] == ["burst-alone"] + ["burst"] * 4


@pytest.mark.parametrize(
    ("fault", "verdict", "text"),
    [
        (Fault("status", **LAST, requests=(2, 4), values={"status": 503}), "failed", "2 of 4 requests sent together failed: http_status"),
        (Fault("cut", **LAST, requests=(3,)), "failed", "1 of 4 requests sent together failed: cut"),
        (Fault("stream_error", **LAST, requests=(1,)), "inconclusive", "the request alone was not answered (stream_error)"),
        (Fault("miscounted", **LAST), "inconclusive", "not within 0.5 %"),
        (Fault("warm", **LAST), "inconclusive", "prompt tokens came from the engine's cache: a shorter prefill"),
    ],
)  # fmt: skip
def test_faults(fault: Fault, verdict: str, text: str, tmp_path: Path) -> None:
    document, got, reason = probed(tmp_path, replace(PLAYED, fault=(fault,)), 4)
    assert (got, text in reason) == (verdict, True), reason
    assert document["completed"] + document["failed"] == 4


def stream(after: int, first: int | None, last: int | None) -> Sent:
    return Sent(after, replace(EMPTY, first_output_ns=first, last_output_ns=last))


EMPTY = Reply(status=200, end_ns=1)


def test_overlap() -> None:
    ms = 1_000_000
    assert generating_at_once([]) == 0
    assert generating_at_once([stream(0, 10 * ms, 20 * ms), stream(0, 20 * ms, 30 * ms)]) == 1
    assert (
        generating_at_once([stream(0, 10 * ms, 20 * ms), stream(6 * ms, 10 * ms, 20 * ms), stream(0, None, None)]) == 1
    )
    assert (
        generating_at_once([stream(0, 10 * ms, 30 * ms), stream(5 * ms, 10 * ms, 20 * ms), stream(0, 29 * ms, 50 * ms)])
        == 2
    )


def test_a_lane_with_requests_that_fail_together_is_qualified_with_a_caveat(tmp_path: Path) -> None:
    profile = Profile(
        "off",
        FunctionalGate("functional/v1", ("known_answer",)),
        capacity=(CapacityGate("capacity/v3", 2048, requests=2, max_tokens=64),),
        burst=GATE,
    )
    recipe = replace(next(iter(SEEDS.values())), caveats=(), profile=(profile,))
    # The lane's own three are served; of those together, two are not.
    faulty = replace(PLAYED, time_scale=0.1, fault=(Fault("status", **LAST, requests=(6, 7), values={"status": 500}),))
    profiles, fault = rehearse(recipe, faulty, tmp_path)
    lane = judge_lane(suite_of(recipe), "key", profiles, fault)
    assert (lane.outcome, fault) == ("qualified_with_caveats", None), lane.reason
    assert [caveat.id for caveat in lane.caveats] == ["off/burst/v1"]
    assert "2 of 4 requests sent together failed" in lane.caveats[0].text
    document = artifact(tmp_path, "burst-off")
    assert (document["schema"], "metrics" in document) == ("tandem.burst/v1", False)
    assert [file.name for file in tmp_path.glob("capacity-*")] == ["capacity-1.json"]


def test_it_can_t_be_a_capacity_gate() -> None:
    profile = Profile(
        "off",
        FunctionalGate("functional/v1", ("known_answer",)),
        capacity=(CapacityGate("burst/v1", 2048),),
    )
    protocols = {name: found for name in profile.protocols() if (found := read_protocol(name))}
    with pytest.raises(InputError, match="burst/v1 is a burst protocol, it can't be the capacity gate's"):
        check_profiles("here", (profile,), 4096, protocols)


@pytest.mark.parametrize("wrong", [{"concurrency": 1}, {"concurrency": 65}, {"max_tokens": 1}])
def test_its_bounds(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="burst needs concurrency of 2 to 64"):
        BurstGate("burst/v1", 2048, **wrong)
