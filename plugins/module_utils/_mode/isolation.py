# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Isolation: while a lane runs, what was stopped stays stopped and what was drained stays drained,
and nobody else holds a declared device. Every intrusion is stored."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field

from .._evidence.record import utc
from .._evidence.say import say
from .._words.errors import CampaignError
from .devices import Devices
from .journal import read_journal
from .reservation import Reservation
from .routers import router_of
from .services import service_hand
from .transaction import begun_steps


def intrusions(reservation: Reservation, devices: Devices) -> list[str]:
    """What breaks the isolation now, in words; empty where nothing does or the mode isn't exclusive."""
    records = read_journal(reservation.journal)
    if not any(record.step == "committed" for record in records) or any(
        record.step.startswith("undo:") for record in records
    ):
        return []
    found: list[str] = []
    steps = begun_steps(records)
    stopped = {step.service for step in steps if step.kind == "stop"}
    for step in steps:
        try:
            if step.kind == "stop" and service_hand(reservation.host, step.service).observe().running:
                found.append(f"{step.service} runs again")
            elif step.kind == "drain" and step.service not in stopped:
                urls = {worker.url for worker in router_of(reservation.host, step.service).workers()}
                found += [f"{step.service} admits {step.worker} again"] if step.worker_url in urls else []
        except CampaignError as exc:
            found.append(f"{step.service} can't be observed: {exc}")
    try:
        plans = {str(record.data["plan_sha256"]) for record in records if record.step == "engine"}
        found += devices.intruders(plans)
    except CampaignError as exc:
        found.append(f"the devices' owners can't be observed: {exc}")
    return found


@dataclass
class IsolationWatch:
    """Looks every ``every_s`` in a thread of its own, so that a slow router doesn't hold up the keeper."""

    reservation: Reservation
    every_s: float
    due: float = 0.0
    thread: threading.Thread | None = field(default=None)

    def __post_init__(self) -> None:
        self.devices = Devices(self.reservation.host)

    def tick(self) -> None:
        if time.monotonic() < self.due or (self.thread is not None and self.thread.is_alive()):
            return
        self.due = time.monotonic() + self.every_s
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        try:
            for text in intrusions(self.reservation, self.devices):
                line = json.dumps(
                    {"schema": "tandem.intrusion/v1", "at": utc(time.time()), "t": time.time(), "text": text}
                )
                with (self.reservation.folder / "isolation.jsonl").open("a", encoding="utf-8") as stream:
                    stream.write(line + "\n")
        except (CampaignError, OSError) as exc:
            if self.reservation.folder.is_dir():
                say(f"{utc(time.time())} isolation was not observed: {exc}")
