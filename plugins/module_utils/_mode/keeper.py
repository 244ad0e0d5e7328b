# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper: holds the host's lock, is the engine's parent, and gives the host back when its controller is silent."""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._engine.runtime import RunningEngine
from .._engine.runtimes import record_of, runtime_for
from .._evidence.record import utc
from .._evidence.say import say
from .._words.documents import canonical_json, from_document, to_document
from .._words.errors import CampaignError
from .._words.plan import LaunchPlan
from .isolation import IsolationWatch
from .journal import Journal
from .keeper_socket import read_line, socket_name
from .reservation import Reservation

TICK_S = 0.5
ISOLATION_S = 3.0
RETRIES = 3
RETRY_S = 20.0

#: Gives the host back: called with the reason; returns what was done.
Heal = Callable[[str], list[str]]


@dataclass
class Keeper:
    """Serves requests of this host's own user, and ends when the reservation's folder is gone."""

    state_dir: Path
    reservation: Reservation
    heal: Heal
    stale: dict[str, Any] = field(default_factory=dict)
    engine: RunningEngine | None = None
    log: str = ""
    failures: int = 0
    retry_at: float = 0.0
    watch: IsolationWatch = field(init=False)

    def run(self) -> None:
        """Until the host is given back, or giving it back has failed too often: then a person is needed, and the lock goes."""
        self.watch = IsolationWatch(self.reservation, ISOLATION_S)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, selectors.DefaultSelector() as selector:
            listener.bind(socket_name(self.state_dir))
            listener.listen(8)
            selector.register(listener, selectors.EVENT_READ)
            say(json.dumps({"ready": os.getpid(), "stale": self.stale}))
            self._detach_output()
            while self.reservation.folder.is_dir() and self.failures < RETRIES:
                if selector.select(TICK_S):
                    self._serve(listener)
                self._tick()

    def _detach_output(self) -> None:
        """The pipe to the starter has said what it had to; from here on a log."""
        log = os.open(self.state_dir / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)

    def _tick(self) -> None:
        if not self.reservation.folder.is_dir():
            return
        if self.engine is not None:
            self.engine.reap()
        self.watch.tick()
        silence = self.reservation.silence_s()
        if silence > self.reservation.host.lease_s and time.monotonic() >= self.retry_at:
            self._take_over(f"no sign of the controller for {silence:.0f} s")

    def _take_over(self, reason: str) -> None:
        say(f"{utc(time.time())} giving the host back: {reason}")
        try:
            done = self.heal(reason)
            say(f"{utc(time.time())} restored: {'; '.join(done) or 'nothing had to be done'}")
        except Exception as exc:  # whatever it is, a fault of our own too: the guarantee goes on to its next try
            self.failures += 1
            self.retry_at = time.monotonic() + min(RETRY_S, self.reservation.host.lease_s)
            say(f"{utc(time.time())} attempt {self.failures} of {RETRIES} failed: {exc}")

    def _serve(self, listener: socket.socket) -> None:
        connection, _address = listener.accept()
        with connection:
            connection.settimeout(5.0)
            try:
                _pid, user, _group = struct.unpack(
                    "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                )
                if user not in (0, os.geteuid()):
                    return
                request = json.loads(read_line(connection))
                connection.sendall(canonical_json(self._answer(request)).encode() + b"\n")
            except (OSError, ValueError, KeyError, TypeError) as exc:
                say(f"{utc(time.time())} request not served: {exc}")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            match request["op"]:
                case "status":
                    return {"campaign": self.reservation.campaign, "engine": self._engine_status()}
                case "start":
                    return self._start(from_document(LaunchPlan, request["plan"]), Path(request["log"]))
                case "restore":
                    self._take_over(str(request.get("reason", "asked to")))
                    return {"restored": not self.reservation.folder.is_dir()}
                case other:
                    return {"error": f"the keeper knows no {other!r}"}
        except CampaignError as exc:
            return {"error": str(exc)}

    def _start(self, plan: LaunchPlan, log: Path) -> dict[str, Any]:
        if self.engine is not None and self.engine.exit_status() is None:
            return {"error": f"an engine already runs here ({self.engine.identity()})"}
        # The intent first: a keeper that dies right after the start leaves an engine that a restore can find.
        Journal(self.reservation.journal).append("intent", "engine", **record_of(plan, str(log)))
        log.parent.mkdir(parents=True, exist_ok=True)
        self.engine, self.log = runtime_for(plan).start(plan, log), str(log)
        Journal(self.reservation.journal).append("result", "engine-started", **self.engine.identity())
        return {"engine": self._engine_status()}

    def _engine_status(self) -> dict[str, Any] | None:
        if self.engine is None:
            return None
        status = self.engine.exit_status()
        return {
            "plan_sha256": self.engine.plan_sha256,
            "identity": self.engine.identity(),
            "log": self.log,
            "running": status is None,
            "exit": to_document(status),
            "exit_text": status.describe() if status else None,
        }
