# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What taking a host and giving it back share: one reservation, its journal, and the steps that stand in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .journal import Journal, Record
from .plan import Step
from .reservation import Reservation

Tell = Callable[[str], None]
OpenJournal = Callable[[Path], Journal]


@dataclass
class Transaction:
    """One reservation's changes to the host."""

    reservation: Reservation
    tell: Tell = field(default=lambda _text: None)
    open_journal: OpenJournal = Journal

    def __post_init__(self) -> None:
        self.journal = self.open_journal(self.reservation.journal)
        self.host = self.reservation.host


def begun_steps(records: list[Record]) -> list[Step]:
    """The steps whose intent was written, in the order of the journal; the undo of a step that never ran changes nothing."""
    return [
        Step(**{**record.data, "after": tuple(record.data["after"])})
        for record in records
        if record.kind == "intent" and record.step.startswith(("stop:", "drain:"))
    ]
