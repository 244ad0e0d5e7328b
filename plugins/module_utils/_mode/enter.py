# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking the host: start the keeper, write the state before, run the transaction; give everything back if any of it fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .._engine.container_evidence import clear_leftovers
from .._evidence.record import artifact
from .._evidence.store import write_json
from .._words.errors import CampaignError, RefusedError
from .._words.host import HostDeclaration
from .._words.identity import Identity
from .heal import StateReader, heal
from .journal import Journal
from .keeper_start import WaitingKeeper
from .lock import describe_stale, lock_holder, lock_is_held, operation
from .observation import check_restorable, observe
from .reservation import Reservation, read_reservation
from .taking import Taking
from .transaction import OpenJournal, Tell


@dataclass(frozen=True)
class Request:
    """Who wants the host, as it is declared, and the keeper that waits to hold it.

    ``takeover``: a reservation that nobody holds any more is resolved first; without it such a host is refused.
    """

    campaign: str
    host: HostDeclaration
    identity: Identity
    keeper: WaitingKeeper
    takeover: bool = False


def planned_steps(host: HostDeclaration) -> list[str]:
    """What entering would do, with everything checked that can be checked without a change."""
    observation = observe(host)
    check_restorable(host, observation)
    if lock_is_held(host.lock_path):
        raise RefusedError(
            f"this host is already reserved by campaign {lock_holder(host.lock_path).get('campaign')!r} ({host.lock_path})"
        )
    return [step.describe() for step in observation.steps(host)]


def enter(
    state_dir: Path, request: Request, reader: StateReader, tell: Tell, open_journal: OpenJournal = Journal
) -> tuple[list[str], Path]:
    """(steps done, the reservation's folder). After a failure the host is given back and the failure raised.

    The keeper has reserved nothing before it is told to, so that a plain mistake leaves no trace.
    """
    with request.keeper as keeper:
        if request.takeover:
            _resolve_stale(state_dir, request, reader, tell)
        check_restorable(request.host, observe(request.host))
        stale = keeper.reserve(request.campaign, request.host, request.identity)
    reservation = read_reservation(state_dir)
    if reservation is None:
        raise CampaignError(f"the keeper gave the reservation up at once; see {state_dir}/keeper.log")
    if stale:
        tell(f"{describe_stale(stale)}: taken over")
    try:
        return _take(reservation, reader, tell, open_journal), reservation.folder
    except (CampaignError, OSError) as exc:
        tell(f"taking the host failed, giving it back: {exc}")
        raise _given_back(state_dir, exc, reader, tell) from exc


def _take(reservation: Reservation, reader: StateReader, tell: Tell, open_journal: OpenJournal) -> list[str]:
    with operation(reservation.folder, "enter") as held:
        if not held:
            raise CampaignError("the host was given back before it was taken; see history/ in the state folder")
        # The owner's state is the one without them, so they go before it is looked at.
        for name in clear_leftovers(reservation.host.docker_socket, reservation.folder):
            tell(f"removed {name}, which an earlier campaign had left; its log is kept")
        before = reader.read(reservation.host)
        if unread := reader.unread(before):
            raise RefusedError(
                f"the state before can't be read whole, so nothing could be proven after: {'; '.join(unread)}"
            )
        write_json(reservation.folder / "state-before.json", artifact("state", reservation.identity, before))
        return Taking(reservation, tell, open_journal).enter()


def _given_back(state_dir: Path, cause: Exception, reader: StateReader, tell: Tell) -> CampaignError:
    """Gives the host back after a failure; says both what failed and what came of that."""
    try:
        healed = heal(state_dir, f"taking the host failed: {cause}", reader, tell)
    except CampaignError as exc:
        return CampaignError(f"{cause} (and {exc}; the keeper tries again, then: restore.yml)", unresolved=True)
    kind = type(cause) if isinstance(cause, CampaignError) else CampaignError
    return kind(f"{cause} (the host was given back; evidence: {healed.folder})", evidence=str(healed.folder))


def _resolve_stale(state_dir: Path, request: Request, reader: StateReader, tell: Tell) -> None:
    """Gives back what a campaign without a living keeper has left, before a new one begins."""
    left = read_reservation(state_dir)
    if left is None or lock_is_held(request.host.lock_path):
        return
    tell(
        f"stale reservation of campaign {left.campaign!r} since {left.since}, its keeper is gone: giving the host back first"
    )
    healed = heal(state_dir, f"stale, taken over by campaign {request.campaign!r}", reader, tell)
    if healed.differences:
        raise RefusedError(
            f"the stale reservation of campaign {left.campaign!r} was resolved, but the host differs from the state before "
            f"in {len(healed.differences)} places; see {healed.folder}/state-diff.json"
        )
