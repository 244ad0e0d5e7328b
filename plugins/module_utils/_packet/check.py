# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole packet, checked offline: files, hashes, kinds, identities, links, verdicts from rows, leaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .._words.documents import to_document
from .._words.errors import CampaignError, EvidenceError
from .._words.text import plain
from .._words.verdict import COMPLETE_OUTCOMES
from . import schemas
from .folder import MANIFEST, SIGNATURE, PacketFolder
from .identities import hash_problems, identity_problems, lane_documents
from .leaks import leak_problems
from .manifest import manifest_problems, published_part
from .outcomes import gate_problems, host_problems
from .problem import Problem
from .signature import signed_by, verify_signer

#: Outcomes that say something of the model: what they rest on has to be there.
SHOWN = 5
SAYS_SOMETHING = (*COMPLETE_OUTCOMES, "inconclusive")


@dataclass(frozen=True)
class PacketReport:
    """``facts``: what was checked, in numbers and names."""

    problems: tuple[Problem, ...]
    facts: dict[str, Any]

    def as_document(self) -> dict[str, Any]:
        return {"ok": not self.problems, "problems": to_document(self.problems), **self.facts}


def problems_in_words(folder: Path, report: PacketReport) -> str:
    """How many, and the first of them; a packet's own text has no control characters in it."""
    told = "; ".join(plain(str(problem), 300) for problem in report.problems[:SHOWN])
    return f"{folder}: {len(report.problems)} problems: {told}"


def check_packet(folder: Path, signers: Path | None = None, signer: str | None = None) -> PacketReport:
    """Everything that can be said of a packet without host, GPU and network. A folder that is no packet raises :class:`EvidenceError`.

    ``signers``, ``signer``: a file of allowed signers and who of them has to have signed; without them a signature has to hold, whoever's it is.
    """
    packet = PacketFolder(folder)
    if not (folder / MANIFEST).is_file():
        raise EvidenceError(f"{folder} has no {MANIFEST}: it is no packet, or its campaign ended before its verdict")
    problems = [*manifest_problems(packet), *schemas.schema_problems(packet)]
    copied = published_part(packet)
    redacted = frozenset(copied["redacted"] if copied else ())
    unreadable = {problem.path for problem in problems if problem.rule in ("file", "schema")}
    lanes = sorted({path.split("/")[1] for path in packet.names("lanes/") if path.count("/") > 1})
    if not unreadable:
        problems += guarded("verdict.json", partial(_host, packet, lanes))
        for lane in lanes:
            problems += guarded(f"lanes/{lane}", partial(_lane, packet, f"lanes/{lane}/", redacted))
    problems += leak_problems(packet, published=copied is not None)
    key, untrusted = _signature(folder, signers, signer)
    return PacketReport(
        (*problems, *untrusted),
        {"files": len(packet.evidence), "lanes": lanes, "signed_by": key, "published": copied is not None},
    )


def _signature(folder: Path, signers: Path | None, signer: str | None) -> tuple[str | None, list[Problem]]:
    try:
        if signers and signer:
            verify_signer(folder, signers, signer)
        return signed_by(folder), []
    except CampaignError as exc:
        return None, [Problem("signature", SIGNATURE, str(exc))]


def guarded(path: str, rule: Callable[[], Iterator[Problem]]) -> list[Problem]:
    """The problems that a rule finds; a document of another shape than its schema's is one, too."""
    found: list[Problem] = []
    try:
        found.extend(rule())
    except (CampaignError, LookupError, TypeError, ValueError, AttributeError) as exc:
        found.append(Problem("schema", path, f"is not of its schema's shape: {type(exc).__name__}: {exc}"))
    return found


def _host(packet: PacketFolder, lanes: list[str]) -> Iterator[Problem]:
    yield from schemas.missing_members(packet, "", schemas.HOST_MEMBERS, "every packet has it")
    if "journal.jsonl" in packet.evidence:
        yield from schemas.missing_members(packet, "", schemas.TAKEN_MEMBERS, "the host was taken")
    top = [path for path in packet.names("", ".json") if "/" not in path]
    yield from identity_problems({path: packet.document(path) for path in top if path != "controls.json"})
    listed = [lane["recipe"] for lane in packet.document("verdict.json")["lanes"]]
    if len(set(listed)) != len(listed):
        yield Problem("verdict", "verdict.json", "a lane stands in it twice")
    for name in sorted(set(lanes) - set(listed)):
        yield Problem("verdict", f"lanes/{name}", "verdict.json has no lane of this name")
    verdicts = {lane: packet.optional(f"lanes/{lane}/verdict.json") for lane in lanes}
    yield from host_problems(packet, {lane: verdict for lane, verdict in verdicts.items() if verdict is not None})
    yield from _mixed(packet, lanes)


def _mixed(packet: PacketFolder, lanes: list[str]) -> Iterator[Problem]:
    """A protocol's name means one thing in a packet, and no lane is played where another is measured."""
    seen: dict[str, tuple[str, Any]] = {}
    for lane in lanes:
        identity = (packet.optional(f"lanes/{lane}/verdict.json") or {}).get("identity") or {}
        facts: Mapping[str, Any] = {**(identity.get("protocols") or {}), "simulated": identity.get("simulated")}
        for name, value in facts.items():
            first = seen.setdefault(name, (lane, value))
            if first[1] != value:
                yield Problem(
                    "identity",
                    f"lanes/{lane}/verdict.json",
                    f"{name} is {value}, in lane {first[0]} it is {first[1]}: not one campaign",
                )


def _lane(packet: PacketFolder, folder: str, redacted: frozenset[str]) -> Iterator[Problem]:
    for path in packet.names(f"{folder}attempts/", "/attempt.json"):
        yield from _attempt(packet, path)
    documents = lane_documents(packet, folder)
    if "verdict.json" not in documents:
        # Refused or never reached: there may be earlier attempts, and nothing else.
        yield from (Problem("member", f"{folder}{name}", "stands without a verdict") for name in documents)
        return
    outcome = documents["verdict.json"]["outcome"]
    why = f"the lane is {outcome}"
    yield from schemas.missing_members(packet, folder, schemas.LANE_MEMBERS, why)
    yield from identity_problems(
        {f"{folder}{name}": document for name, document in documents.items() if not name.endswith(".container.json")}
    )
    has_recipe = "endpoint.json" not in documents
    if has_recipe:
        yield from schemas.missing_members(packet, folder, schemas.RECIPE_MEMBERS, why)
    if outcome in SAYS_SOMETHING:
        wanted = schemas.GATED_MEMBERS + (schemas.LOADED_MEMBERS if has_recipe else ())
        yield from schemas.missing_members(packet, folder, wanted, why)
    yield from hash_problems(folder, documents, documents["verdict.json"]["identity"], redacted)
    role = documents["attempt.json"]["role"]
    if (role == "final") != (outcome in COMPLETE_OUTCOMES):
        yield Problem("verdict", f"{folder}attempt.json", f"role is {role!r} and the outcome {outcome!r}")
    if "rows.jsonl" in {path[len(folder) :] for path in packet.names(folder)}:
        yield from gate_problems(packet, folder, documents)


def _attempt(packet: PacketFolder, path: str) -> Iterator[Problem]:
    """An earlier attempt says why it is none of the results."""
    folder, document = path.removesuffix("attempt.json"), packet.document(path)
    if not document.get("reason"):
        yield Problem("member", path, "has no reason")
    if document.get("role") == "final" and f"{folder}superseded.json" not in packet.evidence:
        yield Problem("verdict", path, "two attempts are final")
