# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lane is one thing: every document of it carries the same identity, and what it was made from hashes to what the identity says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from .._words.documents import sha256_of
from .._words.identity import LaneKeyParts, lane_key, live_sha256
from .folder import PacketFolder
from .problem import Problem

Document = Mapping[str, Any]
#: The same in every document of a lane; the rest becomes known on the way, and is the same from then on.
ALWAYS = (
    "campaign",
    "host",
    "simulated",
    "recipe",
    "recipe_sha256",
    "lane_key",
    "contract_sha256",
    "engine",
    "protocols",
    "plan_sha256",
    "topology_sha256",
)
LATER = ("collection", "started_at", "weights_sha256", "roles", "engine_version", "live_sha256")
REHEARSAL = "rehearsal"


def identity_problems(documents: Mapping[str, Document]) -> Iterator[Problem]:
    """``documents``: path -> document of one lane, or of the host. Compared with the first one's; where a value is null its reason has to stand."""
    known: dict[str, tuple[str, Any]] = {}
    for path, document in documents.items():
        identity = document.get("identity")
        if not isinstance(identity, dict):
            yield Problem("identity", path, "has no identity block")
            continue
        for name in (*ALWAYS, *LATER):
            value = identity.get(name)
            if value is None:
                if not (identity.get("unknown") or {}).get(name):
                    yield Problem("identity", path, f"{name} is unknown without a reason")
                if name in LATER:
                    continue
            first = known.setdefault(name, (path, value))
            if first[1] != value:
                yield Problem("identity", path, f"{name} is {shown(value)}, {first[0]} has {shown(first[1])}")


def hash_problems(
    folder: str, documents: Mapping[str, Document], identity: Document, redacted: frozenset[str] = frozenset()
) -> Iterator[Problem]:
    """What the identity says of recipe, contract, plan, live configuration, topology, weights, protocols and of all of them as a key.

    ``redacted``: paths whose content a published copy had to change; what they hash to is the original's.
    """
    documents = {name: document for name, document in documents.items() if f"{folder}{name}" not in redacted}
    for path, name, content in (
        ("recipe.json", "recipe_sha256", "recipe"),
        ("contract.json", "contract_sha256", "contract"),
        ("plan.json", "plan_sha256", "plan"),
        ("topology.json", "topology_sha256", "topology"),
    ):
        if path in documents:
            yield from _same(f"{folder}{path}", name, sha256_of(documents[path].get(content)), identity.get(name))
    if "live.json" in documents:
        live = documents["live.json"]
        told = (live.get("identity") or {}).get("live_sha256")
        yield from _same(f"{folder}live.json", "live_sha256", live_sha256(live.get("live") or {}), told)
    proof = ((documents.get("snapshot.json") or {}).get("snapshot") or {}).get("proof")
    if "snapshot.json" in documents and (proof != REHEARSAL or not identity.get("simulated")):
        yield from _same(f"{folder}snapshot.json", "weights_sha256", proof, identity.get("weights_sha256"))
    if "engine.json" in documents:
        told = (documents["engine.json"].get("identity") or {}).get("engine_version")
        yield from _same(f"{folder}engine.json", "engine_version", documents["engine.json"].get("version"), told)
    if "protocols.json" in documents:
        yield from _protocols(f"{folder}protocols.json", documents["protocols.json"], identity)
    yield from _image(folder, documents, identity)
    if {"recipe.json", "contract.json", "topology.json", "snapshot.json"} <= set(documents):
        key = lane_key(
            LaneKeyParts(
                recipe=documents["recipe.json"]["recipe"],
                weights=str(proof),
                engine=dict(identity.get("engine") or {}),
                contract=documents["contract.json"]["contract"],
                protocols=dict(identity.get("protocols") or {}),
                host_class=documents["topology.json"]["topology"],
            )
        )
        yield from _same(f"{folder}verdict.json", "lane_key", key, identity.get("lane_key"))


def _same(path: str, name: str, found: object, told: object) -> Iterator[Problem]:
    if found != told:
        yield Problem("link", path, f"{name} is {shown(found)} by what lies here, the identity says {shown(told)}")


def _protocols(path: str, document: Document, identity: Document) -> Iterator[Problem]:
    listed, told = document.get("protocols") or {}, identity.get("protocols")
    # The gates of an address that somebody else serves have no recipe, and their identity no protocols.
    names = listed if told is None else told
    for name in sorted(set(names) | set(listed)):
        text = str((listed.get(name) or {}).get("text", ""))
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        if told is not None:
            yield from _same(path, f"the hash of {name}", sha256, told.get(name))
        content = toml_content(text)
        if content is not None and content != listed[name].get("content"):
            yield Problem("link", path, f"{name}: what is read from it is not what its text says")


def toml_content(text: str) -> dict[str, Any] | None:
    """The text as TOML; None where this Python (3.10) can't read it, and then the hash alone is compared."""
    try:
        import tomllib
    except ImportError:
        return None
    return tomllib.loads(text)


def _image(folder: str, documents: Mapping[str, Document], identity: Document) -> Iterator[Problem]:
    """The image that was planned, proven and started is one."""
    container = ((documents.get("plan.json") or {}).get("plan") or {}).get("container")
    if not container:
        return
    report = (documents.get("image.json") or {}).get("report") or {}
    yield from _same(
        f"{folder}image.json", "image", container.get("image"), (identity.get("engine") or {}).get("image")
    )
    if report.get("id") != container.get("image_id"):
        yield Problem(
            "link",
            f"{folder}plan.json",
            f"image id is {shown(container.get('image_id'))}, the proof has {shown(report.get('id'))}",
        )


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def lane_documents(packet: PacketFolder, folder: str) -> dict[str, Document]:
    """File name -> document of the lane itself; its earlier attempts lie deeper."""
    return {
        path[len(folder) :]: packet.document(path)
        for path in packet.names(folder, ".json")
        if "/" not in path[len(folder) :]
    }
