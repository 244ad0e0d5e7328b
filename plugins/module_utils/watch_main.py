# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz watch`` does: reserve the host and stay until it is given back."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from ._evidence.record import utc
from ._evidence.say import say
from ._mode.heal import heal
from ._mode.journal import Journal
from ._mode.keeper import Keeper
from ._mode.lock import take_host_lock
from ._mode.reservation import create_reservation, read_reservation
from ._words.documents import from_document
from ._words.errors import CampaignError, RefusedError
from ._words.host import HostDeclaration
from ._words.identity import Identity
from .state_main import READER

REFUSED = 3


def watch(state_dir: Path) -> int:
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
