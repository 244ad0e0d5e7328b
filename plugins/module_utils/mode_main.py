# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz call`` does: gpu_mode's states, asked for in one JSON line, told of and answered in JSON lines.

The module that asks stays small this way, and whoever gives a host back runs the same program.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._evidence.say import say
from ._mode.enter import Request, enter, planned_steps
from ._mode.heal import StateReader, heal, wait_released
from ._mode.lock import lock_is_held
from ._mode.reservation import read_reservation
from ._state.final import final_state
from ._state.reader import diff_states, read_state, unread
from ._words.documents import from_document
from ._words.errors import CampaignError
from ._words.host import HostDeclaration
from ._words.identity import Identity

READER = StateReader(read_state, unread, diff_states, final_state)
Answer = dict[str, Any]


def call(state_dir: Path) -> int:
    """Reads the request from standard input; prints progress lines, then ``{"result": …}`` or ``{"error": …}``."""
    request = json.loads(sys.stdin.read())
    acts: dict[str, Callable[[Path, Answer], Answer]] = {
        "plan": _planned,
        "exclusive": _exclusive,
        "restored": _restored,
        "observed": _observed,
    }
    try:
        answer = {"result": acts[request["state"]](state_dir, request)}
    except CampaignError as exc:
        answer = {"error": exc.as_result()}
    say(json.dumps(answer))
    return 0


def _teller(stage: str) -> Callable[[str], None]:
    """Progress lines as long modules write them."""
    return lambda text: say(json.dumps({"t": time.time(), "stage": stage, "text": text}))


def _planned(_state_dir: Path, request: Answer) -> Answer:
    """What ``exclusive`` would do."""
    return {"changed": True, "steps": planned_steps(from_document(HostDeclaration, request["host"])), "folder": None}


def _exclusive(state_dir: Path, request: Answer) -> Answer:
    """Takes the host."""
    host = from_document(HostDeclaration, request["host"])
    identity = from_document(Identity, request["identity"])
    wanted = Request(request["campaign"], host, identity, sys.argv[0], request["takeover"])
    steps, folder = enter(state_dir, wanted, READER, _teller("mode"))
    return {"changed": True, "steps": steps, "folder": str(folder)}


def _restored(state_dir: Path, request: Answer) -> Answer:
    """Gives the host back."""
    healed = heal(state_dir, request["reason"], READER, _teller("restore"))
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
        "final": final_state(host, None, state, [*left, *unread(state)]),
        "reservation": reservation,
    }
