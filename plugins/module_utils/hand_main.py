# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person runs at the host: ``keeper.pyz restore`` and ``keeper.pyz status``."""

from __future__ import annotations

import json
from pathlib import Path

from ._evidence.say import say
from ._mode.heal import heal
from ._mode.keeper_socket import ask_keeper
from ._mode.reservation import read_reservation
from ._words.errors import CampaignError
from .state_main import READER


def restore(state_dir: Path, *, trust_edited: bool) -> int:
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


def status(state_dir: Path) -> int:
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
