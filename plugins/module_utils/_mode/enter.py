# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking the host: start the keeper, write the state before, run the transaction; give everything back if any of it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .._evidence.record import artifact
from .._evidence.store import write_json
from .._words.documents import canonical_json, to_document
from .._words.errors import CampaignError, RefusedError
from .._words.host import HostDeclaration
from .._words.identity import Identity
from .heal import DiffStates, ReadState, heal
from .lock import lock_holder, lock_is_held, operation
from .reservation import Reservation, read_reservation
from .transaction import Transaction, check_restorable, observe

#: The keeper's environment: nothing of a campaign's own is handed on.
KEEPER_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")


@dataclass(frozen=True)
class Request:
    """Who wants the host, as it is declared, and the keeper program to start."""

    campaign: str
    host: HostDeclaration
    identity: Identity
    keeper: str


def planned_steps(host: HostDeclaration) -> list[str]:
    """What entering would do, with everything checked that can be checked without a change."""
    observation = observe(host)
    check_restorable(host, observation)
    if lock_is_held(host.lock_path):
        raise RefusedError(
            f"this host is reserved by campaign {lock_holder(host.lock_path).get('campaign')!r} ({host.lock_path})"
        )
    return [step.describe() for step in observation.steps(host)]


def enter(
    state_dir: Path, request: Request, read_state: ReadState, diff_states: DiffStates, tell: Callable[[str], None]
) -> tuple[list[str], Path]:
    """(steps done, the reservation's folder). After a failure the host is given back and the failure raised."""
    # Looked at before anything is reserved, so that a plain mistake leaves no trace.
    check_restorable(request.host, observe(request.host))
    state_dir.mkdir(parents=True, exist_ok=True)
    # Logs of engines and services' declarations lie in here: nobody else's business on a shared machine.
    state_dir.chmod(0o700)
    start_keeper(state_dir, request)
    reservation = read_reservation(state_dir)
    if reservation is None:
        raise CampaignError(f"the keeper gave the reservation up at once; see {state_dir}/keeper.log")
    try:
        return _take(reservation, read_state, tell), reservation.folder
    except (CampaignError, OSError) as exc:
        tell(f"taking the host failed, giving it back: {exc}")
        healed = heal(state_dir, f"taking the host failed: {exc}", read_state, diff_states, tell)
        raise CampaignError(
            f"{exc} (the host was given back; evidence: {healed.folder})", evidence=str(healed.folder)
        ) from exc


def _take(reservation: Reservation, read_state: ReadState, tell: Callable[[str], None]) -> list[str]:
    with operation(reservation.folder, "enter") as held:
        if not held:
            raise CampaignError("the host was given back before it was taken; see history/ in the state folder")
        write_json(
            reservation.folder / "state-before.json",
            artifact("state", reservation.identity, read_state(reservation.host)),
        )
        return Transaction(reservation, tell).enter()


def start_keeper(state_dir: Path, request: Request) -> None:
    """Starts the keeper detached and waits until it holds the reservation. Raises :class:`RefusedError` with its reason."""
    environment = {name: os.environ[name] for name in KEEPER_ENVIRONMENT if name in os.environ}
    with (state_dir / "keeper.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, request.keeper, "watch", "--state-dir", str(state_dir)],
            cwd="/", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
        )  # fmt: skip
    document = {
        "campaign": request.campaign,
        "host": to_document(request.host),
        "identity": to_document(request.identity),
    }
    if process.stdin is None or process.stdout is None:
        raise CampaignError("the keeper has no pipes")
    with process.stdin, process.stdout:
        process.stdin.write(canonical_json(document).encode())
        process.stdin.close()
        line = process.stdout.readline()
    try:
        answer = json.loads(line)
    except ValueError as exc:
        raise CampaignError(f"the keeper did not start; see {state_dir}/keeper.log") from exc
    if "refused" in answer:
        raise RefusedError(answer["refused"])
