# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz`` runs: ``watch`` and ``call`` (started by gpu_mode), ``restore`` and ``status`` (by a person at the host)."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from ._evidence.record import utc
from ._evidence.say import say
from ._mode.heal import heal
from ._mode.journal import Journal
from ._mode.keeper import Keeper
from ._mode.keeper_socket import ask_keeper
from ._mode.lock import take_host_lock
from ._mode.reservation import create_reservation, read_reservation
from ._words.documents import from_document
from ._words.errors import CampaignError, RefusedError
from ._words.host import HostDeclaration
from ._words.identity import Identity
from .mode_main import READER, call

REFUSED = 3


def main(arguments: list[str] | None = None) -> int:
    """0: done. 3: refused, with one JSON line that says why. 1: the host is not given back; the text says what to do."""
    parser = argparse.ArgumentParser(
        prog="keeper.pyz", description="Holds a reserved host for a campaign and gives it back."
    )
    parser.add_argument("command", choices=("watch", "restore", "status", "call"))
    # Called by the name for people, it lies in the state folder itself; by its own name, in programs/ below it.
    here = Path(sys.argv[0]).absolute().parent
    parser.add_argument("--state-dir", type=Path, default=here.parent if here.name == "programs" else here)
    parser.add_argument(
        "--trust-edited", action="store_true", help="restore from a reservation.json that was changed by hand"
    )
    options = parser.parse_args(arguments)
    if options.command == "restore":
        return _restore(options.state_dir, trust_edited=options.trust_edited)
    return {"watch": _watch, "status": _status, "call": call}[options.command](options.state_dir)


def _watch(state_dir: Path) -> int:
    """Reads ``{campaign, host, identity}`` from standard input, reserves, and stays until the host is given back.

    Without a request it ends: whoever started it has found that the host can't be taken.
    """
    text = sys.stdin.read()
    if not text:
        return 0
    request = json.loads(text)
    host = from_document(HostDeclaration, request["host"])
    since = utc(time.time())
    try:
        lock = take_host_lock(host.lock_path)
        unresolved = read_reservation(state_dir)
        if unresolved is not None:
            raise RefusedError(
                f"campaign {unresolved.campaign!r} took this host at {unresolved.since} and never gave it back. Heal it first: "
                f"ansible-playbook tandem.campaign.restore -l <this host>, or here: python3 {state_dir}/keeper.pyz restore. "
                "With campaign_takeover: true a campaign does that itself first."
            )
        lock.claim({"campaign": request["campaign"], "since": since, "state_dir": str(state_dir)})
        identity = from_document(Identity, request["identity"])
        reservation = create_reservation(
            state_dir, campaign=request["campaign"], since=since, host=host, identity=identity
        )
    except (CampaignError, OSError) as exc:
        say(json.dumps({"refused": str(exc)}))
        return REFUSED
    if lock.stale:
        Journal(reservation.journal).append("note", "stale-lock", holder=lock.stale)
    Keeper(state_dir, reservation, lambda reason: list(heal(state_dir, reason, READER).done), lock.stale).run()
    if not reservation.folder.is_dir():
        lock.release()
    return 0


def _restore(state_dir: Path, *, trust_edited: bool) -> int:
    try:
        healed = heal(state_dir, "restore by hand", READER, say, trust_edited=trust_edited)
    except (CampaignError, OSError) as exc:
        say(
            f"The host is not given back: {exc}\nMend what it names and run this again; the journal is {state_dir}/reservation/journal.jsonl"
        )
        return 1
    if healed.folder is None:
        say("Nothing to restore: no campaign holds this host.")
        return 0
    say(
        f"Restored ({len(healed.done)} steps). Differences to the state before: {len(healed.differences or ())}. Evidence: {healed.folder}"
    )
    return 0 if not healed.differences else 1


def _status(state_dir: Path) -> int:
    reservation = read_reservation(state_dir)
    if reservation is None:
        say("No campaign holds this host.")
        return 0
    say(
        f"Campaign {reservation.campaign!r} holds this host since {reservation.since}; last heartbeat {reservation.silence_s():.0f} s ago."
    )
    try:
        engine = ask_keeper(state_dir, {"op": "status"})["engine"]
        say(f"Keeper: alive. Engine: {json.dumps(engine) if engine else 'none'}")
    except CampaignError as exc:
        say(f"Keeper: gone ({exc}).")
    return 0
