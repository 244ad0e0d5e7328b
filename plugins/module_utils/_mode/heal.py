# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Giving a host back: one way for the module, the keeper and a person at the host."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._evidence.record import artifact, utc
from .._evidence.store import read_json, write_json
from .._words.errors import CampaignError
from .._words.host import HostDeclaration
from .giving_back import GivingBack
from .journal import Journal
from .keeper_socket import ask_keeper
from .lock import lock_is_held, operation
from .reservation import Reservation, read_reservation, resolve
from .transaction import OpenJournal, Tell


@dataclass(frozen=True)
class StateReader:
    """The independent reader, handed in: nothing that changes the host imports it.

    ``read`` looks at the host, ``unread`` names what couldn't be looked at, ``diff`` compares two looks, ``summarise`` tells people
    the final state from a look, the declaration, what is unresolved, and who still holds it.
    """

    read: Callable[[HostDeclaration], dict[str, Any]]
    unread: Callable[[dict[str, Any]], list[str]]
    diff: Callable[[dict[str, Any], dict[str, Any]], list[dict[str, Any]]]
    summarise: Callable[[HostDeclaration, dict[str, Any] | None, dict[str, Any], list[str], str | None], dict[str, Any]]


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
    reader: StateReader,
    tell: Tell = lambda _text: None,
    *,
    trust_edited: bool = False,
    open_journal: OpenJournal = Journal,
) -> Healed:
    """Unloads what is loaded, undoes what was done, compares with the state before. Nothing to do is no change.

    Where something can't be given back the rest is, ``unresolved.json`` and ``final-state.json`` say what is left, and it is raised.
    """
    reservation = read_reservation(state_dir, trust_edited=trust_edited)
    if reservation is None:
        return Healed(False, (), None, None)
    with operation(reservation.folder, reason, takeover=True) as held:
        if not held:
            return Healed(False, (), None, None, reservation.host.lock_path)
        try:
            done = GivingBack(reservation, tell, open_journal).restore()
        except CampaignError as exc:
            _note_unresolved(reservation, reader, exc)
            raise
        differences = _compare(reservation, reader)
        record = {"reason": reason, "by_pid": os.getpid(), "at": utc(time.time()), "done": done}
        write_json(reservation.folder / "restored.json", artifact("restored", reservation.identity, record))
        folder = resolve(reservation)
    return Healed(True, tuple(done), folder, differences, reservation.host.lock_path)


def _note_unresolved(reservation: Reservation, reader: StateReader, fault: CampaignError) -> None:
    """For people and for the packet. A disk that is full doesn't hide the fault itself."""
    problems = list(fault.facts.get("problems") or [str(fault)])
    record = {"at": utc(time.time()), "problems": problems, "done": fault.facts.get("done", [])}
    with contextlib.suppress(CampaignError, OSError):
        write_json(reservation.folder / "unresolved.json", artifact("unresolved", reservation.identity, record))
        _summarise(reservation, reader, reader.read(reservation.host), problems)


def _summarise(reservation: Reservation, reader: StateReader, now: dict[str, Any], unresolved: list[str]) -> None:
    before_file = reservation.folder / "state-before.json"
    before = read_json(before_file) if before_file.exists() else None
    owner = reservation.campaign if unresolved else None
    final = reader.summarise(reservation.host, before, now, unresolved, owner)
    write_json(reservation.folder / "final-state.json", artifact("final-state", reservation.identity, final))


def wait_released(healed: Healed, limit_s: float = 10.0) -> None:
    """Waits for the keeper to see that the host is given back and to let go of the lock, so that the next campaign can begin."""
    deadline = time.monotonic() + limit_s
    if healed.folder is not None:
        # A question wakes it; it would look by itself a little later.
        with contextlib.suppress(CampaignError):
            ask_keeper(healed.folder.parent.parent, {"op": "status"}, timeout_s=1.0)
    while healed.lock_path and lock_is_held(healed.lock_path) and time.monotonic() < deadline:
        time.sleep(0.01)


def _compare(reservation: Reservation, reader: StateReader) -> tuple[dict[str, Any], ...] | None:
    """Writes the state after, its difference and the final state; None where no state before was written (nothing was touched then)."""
    before_file = reservation.folder / "state-before.json"
    if not before_file.exists():
        return None
    after = reader.read(reservation.host)
    differences = reader.diff(read_json(before_file), after)
    write_json(reservation.folder / "state-after.json", artifact("state", reservation.identity, after))
    write_json(
        reservation.folder / "state-diff.json",
        artifact("state-diff", reservation.identity, {"count": len(differences), "differences": differences}),
    )
    _summarise(reservation, reader, after, [])
    return tuple(differences)
