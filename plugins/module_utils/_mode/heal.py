# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Giving a host back: one way for the module, the keeper and a person at the host."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._evidence.record import artifact, utc
from .._evidence.store import read_json, write_json
from .._words.host import HostDeclaration
from .lock import lock_is_held, operation
from .reservation import Reservation, read_reservation, resolve
from .transaction import Transaction

#: Reads the host's state by means of its own (``_state.reader``) and says how two states differ.
ReadState = Callable[[HostDeclaration], dict[str, Any]]
DiffStates = Callable[[dict[str, Any], dict[str, Any]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Healed:
    """``folder`` is where the reservation's evidence now lies; None where there was none to resolve."""

    changed: bool
    done: tuple[str, ...]
    folder: Path | None
    differences: tuple[dict[str, Any], ...] | None
    lock_path: str = ""


def heal(
    state_dir: Path,
    reason: str,
    read_state: ReadState,
    diff_states: DiffStates,
    tell: Callable[[str], None] = lambda _text: None,
) -> Healed:
    """Unloads what is loaded, undoes what was done, compares with the state before. Nothing to do is no change."""
    reservation = read_reservation(state_dir)
    if reservation is None:
        return Healed(False, (), None, None)
    with operation(reservation.folder, reason, takeover=True) as held:
        if not held:
            return Healed(False, (), None, None, reservation.host.lock_path)
        done = Transaction(reservation, tell).restore()
        differences = _compare(reservation, read_state, diff_states)
        record = {"reason": reason, "by_pid": os.getpid(), "at": utc(time.time()), "done": done}
        write_json(reservation.folder / "restored.json", artifact("restored", reservation.identity, record))
        folder = resolve(reservation)
    return Healed(True, tuple(done), folder, differences, reservation.host.lock_path)


def wait_released(healed: Healed, limit_s: float = 10.0) -> None:
    """Waits for the keeper to see that the host is given back and to let go of the lock, so that the next campaign can begin."""
    deadline = time.monotonic() + limit_s
    while healed.lock_path and lock_is_held(healed.lock_path) and time.monotonic() < deadline:
        time.sleep(0.05)


def _compare(
    reservation: Reservation, read_state: ReadState, diff_states: DiffStates
) -> tuple[dict[str, Any], ...] | None:
    """Writes the state after and its difference; None where no state before was written (nothing was touched then)."""
    before_file = reservation.folder / "state-before.json"
    if not before_file.exists():
        return None
    after = read_state(reservation.host)
    differences = diff_states(read_json(before_file), after)
    write_json(reservation.folder / "state-after.json", artifact("state", reservation.identity, after))
    write_json(
        reservation.folder / "state-diff.json",
        artifact("state-diff", reservation.identity, {"count": len(differences), "differences": differences}),
    )
    return tuple(differences)
