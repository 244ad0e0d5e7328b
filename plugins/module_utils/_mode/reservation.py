# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reservation's folder: there while the host is not given back, moved to the history once it is."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._evidence.record import stamp
from .._evidence.store import read_json, sync_folder, write_json
from .._words.documents import from_document, sha256_of, to_document
from .._words.errors import EvidenceError
from .._words.host import Cache, HostDeclaration
from .._words.identity import Identity
from .place import reservation_folder

SCHEMA = "tandem.reservation/v1"


@dataclass(frozen=True)
class Reservation:
    """Who holds the host, and all that is needed to give it back without the controller."""

    folder: Path
    campaign: str
    since: str
    host: HostDeclaration
    identity: Identity

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def heartbeat(self) -> Path:
        return self.folder / "heartbeat"

    def beat(self) -> None:
        """The controller lives."""
        self.heartbeat.touch()

    def silence_s(self) -> float:
        """Seconds since the last heartbeat; without end where its file is gone."""
        try:
            return max(0.0, time.time() - self.heartbeat.stat().st_mtime)
        except FileNotFoundError:
            return math.inf


def create_reservation(
    state_dir: Path, *, campaign: str, since: str, host: HostDeclaration, identity: Identity
) -> Reservation:
    """Makes the folder. Called by the keeper, under the host's lock."""
    folder = reservation_folder(state_dir)
    folder.mkdir(parents=True, exist_ok=False)
    document = {
        "schema": SCHEMA,
        "identity": to_document(identity),
        "campaign": campaign,
        "since": since,
        "host": to_document(host),
    }
    write_json(folder / "reservation.json", {**document, "sum": sha256_of(document)})
    reservation = Reservation(folder, campaign, since, host, identity)
    reservation.beat()
    return reservation


def read_reservation(state_dir: Path, *, trust_edited: bool = False) -> Reservation | None:
    """The unresolved reservation, if there is one. One that was edited by hand is refused, unless a person says to trust it."""
    folder = reservation_folder(state_dir)
    if not folder.is_dir():
        return None
    try:
        document: dict[str, Any] = read_json(folder / "reservation.json")
        mark = document.pop("sum", None)
        host = from_document(HostDeclaration, document["host"])
        identity = from_document(Identity, document["identity"])
    except (EvidenceError, KeyError, TypeError, ValueError) as exc:
        if not (folder / "journal.jsonl").exists():
            # The keeper died between making the folder and writing into it: nothing was touched.
            return Reservation(folder, "unknown", "unknown", _nothing(), _nobody())
        raise EvidenceError(
            f"{folder}/reservation.json is damaged ({exc}). Look at journal.jsonl beside it for what was stopped, start that by hand, "
            f"compare with state-before.json, then move {folder} away"
        ) from exc
    if mark != sha256_of(document) and not trust_edited:
        raise EvidenceError(
            f"{folder}/reservation.json was changed since it was written; nothing is started from it. Put it back, or if the change is yours: "
            f"python3 {state_dir}/keeper.pyz restore --trust-edited"
        )
    return Reservation(folder, document["campaign"], document["since"], host, identity)


def resolve(reservation: Reservation) -> Path:
    """Moves the folder to ``history/``: the host is given back. Atomic."""
    history = reservation.folder.parent / "history"
    history.mkdir(exist_ok=True)
    target = history / f"{stamp(time.time())}-{reservation.campaign}"
    os.rename(reservation.folder, target)
    sync_folder(history)
    sync_folder(history.parent)
    return target


def _nothing() -> HostDeclaration:
    return HostDeclaration({}, {}, {}, Cache(path="/nonexistent"), "", "", 60.0, 0)


def _nobody() -> Identity:
    reason = "the reservation was never written"
    names = (
        "recipe",
        "recipe_sha256",
        "lane_key",
        "weights_sha256",
        "engine",
        "engine_version",
        "roles",
        "topology_sha256",
    )
    more = ("contract_sha256", "plan_sha256", "live_sha256", "protocols")
    return Identity("unknown", "unknown", "unknown", {}, False, unknown=dict.fromkeys(names + more, reason))
