# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates once more, with the answers that were recorded: what they say has to be what the packet says. No socket is opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._api import requests
from .._api.client import Client
from .._engine.adapters import endpoint_adapter
from .._evidence.store import Lines
from .._gates.burst import BurstRun
from .._gates.capacity import CapacityRun, check_name
from .._gates.energy import unix_time
from .._gates.prompts import Messages, target_tokens
from .._gates.runner import LaneGates
from .._gates.session import Session, abbreviated, raise_fault, request_sha256
from .._gates.together import Sent
from .._words.documents import from_document
from .._words.events import Reply
from .._words.profile import BurstGate, CapacityGate, Profile

NS = 1_000_000_000
#: No address: nothing is asked.
NOBODY = Client("http://replay.invalid")
#: What a lane's clock may hold beyond its requests' own times: what is done between two of them.
BETWEEN_S = 0.5
Record = dict[str, Any]


class ReplayError(Exception):
    """The rows don't go with the suite. No :class:`CampaignError`, which the gates would take for a fault of the engine's."""


@dataclass
class Recorded:
    """A lane's rows in their order. Rows of a calibration only sized prompts, and are passed over."""

    rows: list[Record]
    at: int = 0

    def take(self, profile: str, protocol: str, check: str, *, warmup: bool) -> tuple[Record, Reply]:
        """The next row and its reply; it has to be what the gate asks for now."""
        while self.at < len(self.rows) and self.rows[self.at].get("check") == "calibration":
            self.at += 1
        if self.at >= len(self.rows):
            raise ReplayError(f"rows end where {profile}, {protocol}, {check} asks for one more")
        row = self.rows[self.at]
        found = tuple(row.get(name) for name in ("profile", "protocol", "check", "warmup", "index"))
        wanted = (profile, protocol, check, warmup, self.at)
        if found != wanted:
            raise ReplayError(
                f"row {self.at} is {found}, the gates ask for {wanted} (profile, protocol, check, warm-up, index)"
            )
        self.at += 1
        return row, from_document(Reply, row["reply"])

    @property
    def left(self) -> int:
        return sum(row.get("check") != "calibration" for row in self.rows[self.at :])


@dataclass
class ReplaySession(Session):
    """Answers come from rows, and each request has to be the one that was sent. What a check
    has sized with the engine's tokenizer can't be built again; of such requests the settings are compared."""

    recorded: Recorded = field(default_factory=lambda: Recorded([]))
    sized: bool = False

    def begin(self) -> None:
        super().begin()
        self.sized = False

    def count_tokens(self, messages: Messages) -> int | None:
        self.sized = True
        return None

    def send(self, check: str, body: dict[str, Any], *, warmup: bool, counts: bool = True) -> Reply:
        row, reply = self.recorded.take(self.profile, self.protocol, check, warmup=warmup)
        if not self.sized and request_sha256(requests.encode(body)) != row["request_sha256"]:
            raise ReplayError(f"row {row['index']}: the request is not what {check} sends")
        if not same_but_prompt(abbreviated(body), row["request"]):
            raise ReplayError(f"row {row['index']}: the request's settings are not what {check} sends")
        if counts:
            self.asked.append(row["index"])
            self.replies.append(reply)
        raise_fault(check, row["index"], reply)
        return reply


def same_but_prompt(body: Record, request: Record) -> bool:
    """Everything of two requests but the messages and the limit that follows from their length."""
    names = (set(body) | set(request)) - {"messages", "input", "max_tokens", "max_output_tokens"}
    return all(body.get(name) == request.get(name) for name in names)


@dataclass
class ReplayedGates(LaneGates):
    """A lane's gates over its rows. ``documents``: file name -> what the packet has; ``written``: what follows from the rows."""

    recorded: Recorded = field(default_factory=lambda: Recorded([]))
    documents: dict[str, Record] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    written: dict[str, Record] = field(default_factory=dict)

    def session_of(self, profile: Profile, rows: Lines, index: int) -> Session:
        session = ReplaySession(
            NOBODY, endpoint_adapter(self.suite.engine), self.suite.model, profile.name, profile.reasoning, rows, self.tell,
            self.suite.context_tokens, seed=self.seed, parsers=self.suite.parsers,
        )  # fmt: skip
        session.recorded = self.recorded
        return session

    def capacity_run(self, session: Session, gate: CapacityGate, protocol: Record) -> CapacityRun:
        """The moments are the rows'; the lane's clock and the cache's counters stand in its document alone and are held against the rows."""
        document = self._document(f"capacity-{self.capacity_count + 1}.json")
        name = check_name(gate)
        warm = tuple(self._taken(session, name, gate.warmup, warmup=True))
        first = self.recorded.at
        measured = tuple(self._taken(session, name, gate.requests, warmup=False))
        cache, wall_ns = document["cache"], round(document["wall_s"] * NS)
        spent = sum(reply.end_ns for reply in measured)
        if not spent <= wall_ns <= spent + (BETWEEN_S + spent * 0.01 / NS) * NS * len(measured):
            raise ReplayError(
                f"{name} from row {first} on: its clock says {wall_ns / NS:.3f} s, its requests took {spent / NS:.3f} s"
            )
        began_at = document["began_at"]
        if measured and abs(unix_time(began_at) - unix_time(self.recorded.rows[first]["sent_at"])) > BETWEEN_S:
            raise ReplayError(
                f"{name}: its clock started at {began_at}, its first request was sent at {self.recorded.rows[first]['sent_at']}"
            )
        return CapacityRun(
            warm, measured, target_tokens(gate, protocol), wall_ns, began_at, cache["before"], cache["after"]
        )

    def burst_run(self, session: Session, gate: BurstGate, protocol: Record) -> BurstRun:
        document = self._document(f"burst-{session.profile}.json")
        (alone,) = self._taken(session, "burst-alone", 1, warmup=False)
        replies = [
            self.recorded.take(session.profile, session.protocol, "burst", warmup=False)[1]
            for _one in range(gate.concurrency)
        ]
        sent = [
            Sent(round(one["sent_s"] * NS), reply) for one, reply in zip(document["together"], replies, strict=True)
        ]
        cache = document["cache"]
        return BurstRun(
            alone, tuple(sent), target_tokens(gate, protocol), document["most_waiting"], cache["before"], cache["after"]
        )

    def _taken(self, session: Session, check: str, count: int, *, warmup: bool) -> Iterator[Reply]:
        for _number in range(count):
            row, reply = self.recorded.take(session.profile, session.protocol, check, warmup=warmup)
            session.asked.append(row["index"])
            raise_fault(check, row["index"], reply)
            yield reply

    def _document(self, name: str) -> Record:
        if name not in self.documents:
            raise ReplayError(f"{name} is missing, its gate was run")
        return self.documents[name]

    def write(self, name: str, content: Record, file: str | None = None) -> dict[str, str]:
        path = f"{file or name}.json"
        self.written[path] = content
        return {"path": f"lanes/{self.suite.name}/{path}", "sha256": self.hashes.get(path, "")}
