# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts made again: a lane's from its rows, the host's from its lanes, the restore from the two looks at the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .._gates.energy import Sample, energy_document
from .._gates.verdicts import judge_host, judge_lane
from .._state.difference import diff_states
from .._words.documents import from_document, to_document
from .._words.errors import CampaignError
from .._words.identity import Identity
from .._words.suite import Suite
from .._words.text import plain
from .._words.verdict import Caveat, LaneResult, ProfileResult
from .folder import PacketFolder
from .identities import shown
from .problem import Problem
from .replay import Recorded, ReplayedGates, ReplayError

Document = Mapping[str, Any]
#: Documents that a gate writes; no other file may speak for one.
GATE_FILES = ("functional", "quality", "capacity-", "burst-", "control-")
RESULT = ("recipe", "lane_key", "outcome", "reason", "caveats", "control", "profiles")


def gate_problems(packet: PacketFolder, folder: str, documents: Mapping[str, Document]) -> Iterator[Problem]:
    """The gates' documents and the lane's outcome against what its rows say."""
    try:
        replayed, profiles, fault = replay(packet, folder, documents)
    except (ReplayError, CampaignError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as exc:
        # A forged document may have any shape: whatever it breaks, its rows don't carry the verdict.
        yield Problem(
            "verdict",
            f"{folder}rows.jsonl",
            f"the gates can't be followed: {plain(str(exc) or type(exc).__name__, 300)}",
        )
        return
    there = {name: document for name, document in documents.items() if name.startswith(GATE_FILES)}
    for name in sorted(set(there) | set(replayed.written)):
        if name not in there:
            yield Problem("member", f"{folder}{name}", "is missing, its gate was run")
        elif name not in replayed.written:
            yield Problem("verdict", f"{folder}{name}", "no gate of the suite wrote it")
        else:
            yield from differing(f"{folder}{name}", to_document(replayed.written[name]), content_of(there[name]))
    if replayed.recorded.left and not fault:
        yield Problem("verdict", f"{folder}rows.jsonl", f"{replayed.recorded.left} rows belong to no gate of the suite")
    verdict = documents["verdict.json"]
    if verdict.get("outcome") != "infrastructure":
        judged = judge_lane(
            replayed.suite,
            str(verdict.get("lane_key")),
            profiles,
            fault,
            unproven(documents),
            snapshot_caveats(documents),
        )
        wanted = {**to_document(judged), "lane_key": verdict.get("lane_key")}
        yield from differing(f"{folder}verdict.json", wanted, {name: verdict.get(name) for name in RESULT})


def replay(
    packet: PacketFolder, folder: str, documents: Mapping[str, Document]
) -> tuple[ReplayedGates, tuple[ProfileResult, ...], str | None]:
    """The lane's gates with the answers of its rows."""
    given = documents["protocols.json"]
    header, *rows = packet.lines(f"{folder}rows.jsonl")
    protocols = {name: entry["content"] for name, entry in given["protocols"].items()}
    gates = ReplayedGates(
        from_document(Suite, given["suite"]), protocols, "http://replay.invalid", Path(), from_document(Identity, header["identity"]),
        str(documents["attempt.json"]["attempt"]), silent, intrusions_in(documents), recorded=Recorded(rows),
        documents={name: dict(document) for name, document in documents.items()},
        energy=energy_from(packet, folder), hashes={name: packet.sha256(f"{folder}{name}") for name in documents},
    )  # fmt: skip
    profiles, fault = gates.run()
    return gates, profiles, fault


def energy_from(packet: PacketFolder, folder: str) -> Callable[[str, float, int | None], dict[str, Any]]:
    """Energy from the samples that were kept; without a file nothing was watched, or nothing could be."""
    path = f"{folder}telemetry.jsonl"
    header, *lines = packet.lines(path) if path in packet.evidence else [{"roles": []}]
    samples = [
        from_document(Sample, {name: value for name, value in line.items() if name != "schema"}) for line in lines
    ]
    return lambda began_at, wall_s, tokens: energy_document(samples, header["roles"], began_at, wall_s, tokens)


def silent(*_words: object, **_data: object) -> None:
    """Nobody watches."""


def intrusions_in(documents: Mapping[str, Document]) -> Any:
    """What the capacity documents have of the host's isolation, one after another; the watch itself was the keeper's."""
    found = iter([document.get("intrusions") or [] for name, document in sorted_capacity(documents)])
    return lambda _since: next(found)


def sorted_capacity(documents: Mapping[str, Document]) -> list[tuple[str, Document]]:
    """Capacity documents by their number."""
    named = [(name, document) for name, document in documents.items() if name.startswith("capacity-")]
    return sorted(named, key=lambda item: (len(item[0]), item[0]))


def unproven(documents: Mapping[str, Document]) -> tuple[str, ...]:
    """Settings that the engine did not tell, as the verdict was given them."""
    return tuple(plain(str(text), 200) for text in (documents.get("live.json") or {}).get("unproven") or ())


def snapshot_caveats(documents: Mapping[str, Document]) -> tuple[Caveat, ...]:
    """What the proof of the weights left open."""
    snapshot = (documents.get("snapshot.json") or {}).get("snapshot") or {}
    return tuple(Caveat("snapshot", plain(str(text), 400)) for text in snapshot.get("caveats") or ())


def content_of(document: Document) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ("schema", "identity")}


def differing(path: str, wanted: Any, found: Any) -> Iterator[Problem]:
    """The first difference between what follows from the evidence and what stands there."""
    differences = diff(wanted, found)
    if differences:
        where, should, does = differences[0]
        more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
        yield Problem(
            "verdict", path, f"{where or 'the document'} is {shown(does)}, its evidence says {shown(should)}{more}"
        )


def diff(wanted: Any, found: Any, where: str = "") -> list[tuple[str, Any, Any]]:
    """Every place at which two JSON values differ, as (place, wanted, found)."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        names = sorted(set(wanted) | set(found))
        return [item for name in names for item in diff(wanted.get(name), found.get(name), f"{where}/{name}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [item for number, pair in pairs for item in diff(*pair, f"{where}/{number}")]
    return [] if wanted == found and isinstance(wanted, bool) == isinstance(found, bool) else [(where, wanted, found)]


def host_problems(packet: PacketFolder, lanes: Mapping[str, Document]) -> Iterator[Problem]:
    """verdict.json against the lanes' own verdicts and the restore. ``lanes``: recipe -> its verdict.json, where it has one."""
    verdict = packet.document("verdict.json")
    for lane in verdict["lanes"]:
        own = lanes.get(lane["recipe"])
        if own is not None:
            yield from differing(
                f"lanes/{lane['recipe']}/verdict.json",
                {name: lane.get(name) for name in RESULT},
                {name: own.get(name) for name in RESULT},
            )
    restore = verdict["restore"]
    outcome, reason = judge_host(
        [from_document(LaneResult, lane) for lane in verdict["lanes"]], restore["verdict"] == "passed"
    )
    if (outcome, reason) != (verdict["outcome"], verdict["reason"]):
        yield Problem(
            "verdict",
            "verdict.json",
            f"outcome is {verdict['outcome']} ({shown(verdict['reason'])}), its lanes make it {outcome} ({shown(reason)})",
        )
    if verdict.get("promotion") != "none":
        yield Problem(
            "verdict", "verdict.json", f"promotion is {shown(verdict.get('promotion'))}; nothing is ever promoted"
        )
    yield from restore_problems(packet, restore)


def restore_problems(packet: PacketFolder, restore: Document) -> Iterator[Problem]:
    """The difference follows from the two looks, and the restore's verdict from the difference."""
    difference = packet.optional("state-diff.json")
    if difference is None:
        if (
            restore["verdict"] == "passed"
            and packet.names("lanes/", "/plan.json")
            and "journal.jsonl" in packet.evidence
        ):
            yield Problem(
                "member", "state-diff.json", "is missing: a host that was taken is proven to be as before by it"
            )
        return
    before, after = packet.document("state-before.json"), packet.document("state-after.json")
    found = diff_states(content_of(before), content_of(after))
    yield from differing("state-diff.json", {"count": len(found), "differences": found}, content_of(difference))
    if (restore["verdict"] == "passed") != (not found) or restore["diff_count"] not in (None, len(found)):
        yield Problem(
            "verdict",
            "verdict.json",
            f"restore {restore['verdict']} with {restore['diff_count']} differences, the two looks have {len(found)}",
        )
