# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz call`` does: gpu_mode's states, asked for in one JSON document, told of and answered in JSON lines.

Whoever gives a host back runs the same program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ._evidence.say import Answer, answered, tell
from ._mode.enter import Request, enter, planned_steps
from ._mode.heal import heal, wait_released
from ._mode.keeper_start import WaitingKeeper
from ._mode.lock import lock_is_held
from ._mode.reservation import read_reservation
from ._state.final import final_state
from ._state.reader import read_state, unread
from ._words.documents import from_document
from ._words.errors import CampaignError
from ._words.host import HostDeclaration
from ._words.identity import Identity
from .state_main import READER


def answer(state_dir: Path, request: Answer, keeper: WaitingKeeper | None) -> Answer:
    """``{"result": …}`` or ``{"error": …}``; progress lines are printed meanwhile. ``keeper``: for ``exclusive``."""
    acts: dict[str, Callable[[], Answer]] = {
        "plan": lambda: _planned(request),
        "exclusive": lambda: _exclusive(state_dir, request, keeper),
        "restored": lambda: _restored(state_dir, request),
        "observed": lambda: _observed(state_dir, request),
    }
    return answered(acts[request["state"]])


def _planned(request: Answer) -> Answer:
    """What ``exclusive`` would do."""
    return {"changed": True, "steps": planned_steps(from_document(HostDeclaration, request["host"])), "folder": None}


def _exclusive(state_dir: Path, request: Answer, keeper: WaitingKeeper | None) -> Answer:
    """Takes the host."""
    if keeper is None:
        raise CampaignError("a host is taken by a keeper, and none was started")
    host = from_document(HostDeclaration, request["host"])
    identity = from_document(Identity, request["identity"])
    wanted = Request(request["campaign"], host, identity, keeper, request["takeover"])
    steps, folder = enter(state_dir, wanted, READER, partial(tell, "mode"))
    return {"changed": True, "steps": steps, "folder": str(folder)}


def _restored(state_dir: Path, request: Answer) -> Answer:
    """Gives the host back."""
    healed = heal(state_dir, request["reason"], READER, partial(tell, "restore"))
    wait_released(healed)
    return {
        "changed": healed.changed,
        "steps": list(healed.done),
        "folder": str(healed.folder) if healed.folder else None,
        "differences": None if healed.differences is None else list(healed.differences),
    }


def _observed(state_dir: Path, request: Answer) -> Answer:
    """The state, unchanged."""
    host = from_document(HostDeclaration, request["host"])
    state = read_state(host)
    held = read_reservation(state_dir)
    reservation, left = None, []
    if held is not None:
        alive = lock_is_held(held.host.lock_path)
        silence = round(held.silence_s(), 1) if alive else None
        reservation = {"campaign": held.campaign, "since": held.since, "silence_s": silence, "keeper_alive": alive}
        left = [f"campaign {held.campaign!r} holds this host since {held.since}"]
    return {
        "changed": False,
        "steps": [],
        "folder": str(held.folder) if held else None,
        "observed": state,
        "final": final_state(host, None, state, [*left, *unread(state)], held.campaign if held else None),
        "reservation": reservation,
    }
