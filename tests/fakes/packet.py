"""A whole packet in a few tenths of a second: a seed recipe's gates against a played engine, and what a controller writes beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.action.packet import write_lane_documents
from ansible_collections.tandem.campaign.plugins.action.verdict import host_document
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.record import artifact
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import write_json
from ansible_collections.tandem.campaign.plugins.module_utils._gates.runner import LaneGates
from ansible_collections.tandem.campaign.plugins.module_utils._gates.verdicts import judge_lane
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import sha256_of, to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.identity import (
    Identity,
    LaneKeyParts,
    lane_key,
    live_sha256,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.packets import Packet
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import read_protocol
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.played.behaviour import Behaviour, read_behaviour
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import BEHAVIOURS, SEEDS, playing

ATTEMPT = "20260101T000000.000Z"
WEIGHTS = "5" * 64
CONTRACT: dict[str, Any] = {
    "environment": [{"name": "NCCL_DEBUG", "value": "INFO", "reason": "r", "source": "s"}],
    "arguments": [],
}
TOPOLOGY: dict[str, Any] = {
    "gpus": ["NVIDIA Test"] * 2, "roles": 2, "driver": ["1"], "cpu": None, "runtime": "process", "simulated": False,
}  # fmt: skip
LIVE: dict[str, Any] = {"argv": ["engine", "--port", "1"], "environment": {}, "process": {"pid": 1}}
STATE: dict[str, Any] = {"services": {"omni": {"kind": "process", "state": "running", "pid": 7}}, "engines": 0}


def make_seed_packet(folder: Path, name: str) -> Packet:
    """Of a seed recipe, played slowly enough for streams that a busy machine reads late."""
    behaviour = read_behaviour(BEHAVIOURS / f"{name}.toml")
    slow = replace(behaviour, prefill_tok_s=1e6, decode_tok_s=1500.0, overhead_s=0.0, time_scale=1.0)
    return make_packet(folder, SEEDS[name], slow)


def make_packet(folder: Path, recipe: Recipe, behaviour: Behaviour) -> Packet:
    """``<folder>/c/h`` with one lane; nothing of it is of a real host."""
    packet = Packet(folder / "c" / "h")
    protocols = {name: found for name in recipe.protocols() if (found := read_protocol(name)) is not None}
    lane_identity = _identity(recipe, {name: found.sha256 for name, found in protocols.items()})
    place = packet.lane(recipe.name)
    with playing(behaviour, recipe.limits.context_tokens) as url:
        documents = {name: found.document for name, found in protocols.items()}
        gates = LaneGates(
            suite_of(recipe), documents, url, place, lane_identity, ATTEMPT, lambda *_a, **_k: None, lambda _since: []
        )
        profiles, fault = gates.run()
    for name, content in {
        "plan": {"plan": PLAN},
        "live": {"live": LIVE, "comparisons": [], "deviations": [], "unproven": []},
        "engine": {"ready": True, "ready_s": 1.0, "version": "1.2.3"},
        "models": {"models": {"data": [{"id": recipe.name}]}},
    }.items():
        write_json(place / f"{name}.json", artifact(name, lane_identity, content))
    (place / "startup.log").write_text("engine says hello\n")
    lane = _lane(recipe, protocols, lane_identity)
    verdict = to_document(judge_lane(suite_of(recipe), lane_identity.lane_key or "", profiles, fault))
    write_lane_documents(place, lane, verdict, ATTEMPT)
    _host_documents(packet, lane)
    return packet


PLAN: dict[str, Any] = {"argv": ["engine", "--port", "1"], "container": None}


def _identity(recipe: Recipe, protocols: dict[str, str]) -> Identity:
    engine: dict[str, str | None] = {
        "kind": recipe.engine.kind,
        "version": recipe.engine.version,
        "image": recipe.engine.image,
        "lock_sha256": None,
    }
    key = lane_key(LaneKeyParts(to_document(recipe), WEIGHTS, dict(engine), CONTRACT, protocols, TOPOLOGY))
    return identity(
        recipe=recipe.name, recipe_sha256=sha256_of(recipe), lane_key=key, weights_sha256=WEIGHTS, engine=engine, engine_version="1.2.3",
        roles={"compute_a": "compute_a", "compute_b": "compute_b"}, topology_sha256=sha256_of(TOPOLOGY), contract_sha256=sha256_of(CONTRACT),
        plan_sha256=sha256_of(PLAN), live_sha256=live_sha256(LIVE), protocols=protocols,
    )  # fmt: skip


def _lane(recipe: Recipe, protocols: dict[str, Any], lane_identity: Identity) -> dict[str, Any]:
    return {
        "name": recipe.name, "action": "run", "refusal": None, "stored": None, "recipe": to_document(recipe), "suite": to_document(suite_of(recipe)),
        "protocols": {name: found.document for name, found in protocols.items()}, "protocol_texts": {name: found.text for name, found in protocols.items()},
        "topology": TOPOLOGY, "contract": CONTRACT, "findings": [], "collective": False, "identity": to_document(lane_identity),
        "lane_key": lane_identity.lane_key, "fit": None, "sources": [], "snapshot": {"proof": WEIGHTS}, "image": None,
    }  # fmt: skip


def _host_documents(packet: Packet, lane: dict[str, Any]) -> None:
    host = identity()
    contents: dict[str, dict[str, Any]] = {
        "reservation": {"campaign": "c", "since": "2026-01-01T00:00:00.000Z", "host": {}, "sum": ""},
        "state-before": STATE, "state-after": {**STATE, "services": {"omni": {"kind": "process", "state": "running", "pid": 8}}},
        "state-diff": {"count": 0, "differences": []},
        "final-state": {"mode": "split", "exclusive_owner": None, "gpu_ownership": {}, "services": {}, "unresolved": [], "blocked_workloads": []},
        "campaign": {"recipes": [lane["name"]], "finished_at": "2026-01-01T01:00:00.000Z"}, "host": {"facts": {"gpus": []}},
    }  # fmt: skip
    for name, content in contents.items():
        write_json(
            packet.folder / f"{name}.json", artifact(name.removesuffix("-before").removesuffix("-after"), host, content)
        )
    (packet.folder / "journal.jsonl").write_text('{"n":0,"step":"enter"}\n')
    plan = {"identity": to_document(host), "lanes": [lane], "attempt": ATTEMPT}
    restored = {"verdict": "passed", "reason": "the state after equals the state before", "diff_count": 0}
    write_json(packet.verdict, host_document(plan, packet, restored, ""))
    packet.write_manifest(to_document(host))
