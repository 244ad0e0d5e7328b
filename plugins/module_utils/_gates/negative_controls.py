# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows, on this host and with this code, that every check can fail: each against a server that is bad in several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .._api.client import Client
from .._engine.adapters import ADAPTERS
from .._evidence.store import Lines
from .._words.documents import to_document
from .._words.errors import CampaignError
from .._words.profile import BurstGate, CapacityGate, QualityGate, Reasoning
from .bad_server import bad_server
from .burst import burst_document, judge_burst, run_burst
from .capacity import capacity_document, judge_capacity, run_capacity
from .control import run_control
from .finding import passed
from .functional import PROBES, Probe, run_check
from .quality import attempt_task, run_quality
from .session import Session
from .verdicts import judge_checks

Document = dict[str, Any]
OFF, ON = Reasoning("off"), Reasoning("on")
#: What a fault of the transport comes to, wherever it happens; it is never a verdict.
INFRASTRUCTURE = "infrastructure"
CAPACITY = CapacityGate("capacity", 1024, requests=3, warmup=1, max_tokens=128)
BURST = BurstGate("burst", 1024, concurrency=3, max_tokens=128)
CONTEXT_TOKENS = 65536


@dataclass(frozen=True)
class Control:
    """One check against one way of being bad. ``got``: its verdict, or ``infrastructure`` with the reason."""

    protocol: str
    check: str
    way: str
    expected: str
    got: str
    reason: str

    @property
    def met(self) -> bool:
        return self.got == self.expected


@dataclass
class NegativeControls:
    """``protocols``: name -> document, of all lanes that are going to run. ``folder``: for the rows, which are scratch."""

    protocols: Mapping[str, Document]
    folder: Path
    tell: Callable[..., None]
    probes: Mapping[str, Probe] = field(default_factory=lambda: PROBES)

    def run(self) -> Document:
        """What controls.json has: every row, and whether all came out as they have to."""
        rows = list(self._rows())
        missed = [row for row in rows if not row.met]
        reason = f"{len(rows) - len(missed)} of {len(rows)} controls caught"
        if missed:
            first = missed[0]
            reason += f"; {first.protocol} {first.check} against {first.way}: {first.got}, {first.expected} was expected ({first.reason})"
        return {
            "verdict": "failed" if missed or not rows else "passed",
            "reason": reason,
            "controls": [{**to_document(row), "met": row.met} for row in rows],
        }

    def _rows(self) -> Iterator[Control]:
        kinds = {
            "functional": self._functional,
            "quality": self._quality,
            "capacity": self._capacity,
            "burst": self._burst,
        }
        for number, (name, protocol) in enumerate(self.protocols.items(), start=1):
            self.tell("controls", f"controls {number}/{len(self.protocols)}: {name}")
            yield from kinds[protocol["kind"]](name, protocol)

    def _functional(self, name: str, protocol: Document) -> Iterator[Control]:
        for check, settings in protocol["check"].items():
            run = partial(self._check, check, settings)
            yield from self._each(name, check, run, {"loop": "failed", "silent": "failed", "leak": "failed"})
        yield self._against(name, "a check that asks nothing", "silent", "inconclusive", self._nothing)
        empty = judge_checks(name, ())
        yield Control(name, "no check at all", "nothing", "inconclusive", empty.verdict, empty.reason)

    def _quality(self, name: str, protocol: Document) -> Iterator[Control]:
        for task, settings in protocol["task"].items():
            run = partial(self._task, task, settings)
            yield from self._each(name, task, run, {"loop": "failed", "silent": "failed", "leak": "failed"})
        if "control" in protocol:
            puzzle = protocol["control"]["puzzle"]
            yield from self._each(
                name, "reasoning control, on", partial(self._reasoning, puzzle, ON), {"loop": "failed"}
            )
            yield from self._each(
                name, "reasoning control, off", partial(self._reasoning, puzzle, OFF), {"leak": "failed"}
            )
        none = {key: value for key, value in protocol.items() if key != "context"} | {"task": {}}
        yield self._against(name, "no task at all", "silent", "inconclusive", partial(self._no_task, none))

    def _capacity(self, name: str, protocol: Document) -> Iterator[Control]:
        expected = {"loop": "inconclusive", "short": "inconclusive", "silent": "failed"}
        yield from self._each(name, "timing", partial(self._timing, protocol), expected)

    def _burst(self, name: str, protocol: Document) -> Iterator[Control]:
        expected = {"short": "inconclusive", "silent": "inconclusive", "crowded": "failed"}
        yield from self._each(name, "queueing", partial(self._together, protocol), expected)

    def _each(
        self, protocol: str, check: str, run: Callable[[Session], tuple[str, str]], expected: Mapping[str, str]
    ) -> Iterator[Control]:
        """The ways that a check has to see, and a fault, which is no verdict."""
        for way, verdict in {**expected, "fault": INFRASTRUCTURE}.items():
            yield self._against(protocol, check, way, verdict, run)

    def _against(
        self, protocol: str, check: str, way: str, expected: str, run: Callable[[Session], tuple[str, str]]
    ) -> Control:
        rows = Lines(self.folder / "rows.jsonl", {})
        try:
            with bad_server(way) as url:
                adapter = ADAPTERS["vllm"]
                session = Session(
                    Client(url), adapter, "bad", "control", OFF, rows, silent, CONTEXT_TOKENS, seed="control"
                )
                got, reason = run(session)
        except CampaignError as exc:
            got, reason = INFRASTRUCTURE, str(exc)
        finally:
            rows.close()
        return Control(protocol, check, way, expected, got, reason[:300])

    def _check(self, check: str, settings: Document, session: Session) -> tuple[str, str]:
        result = run_check(session, check, "required", settings, self.probes)
        return result.verdict, result.reason

    def _nothing(self, session: Session) -> tuple[str, str]:
        probes: Mapping[str, Probe] = {"nothing": lambda _session, _name, _settings: passed("nothing was asked")}
        result = run_check(session, "nothing", "required", {"probe": "nothing"}, probes)
        return result.verdict, result.reason

    def _task(self, task: str, settings: Document, session: Session) -> tuple[str, str]:
        attempt = attempt_task(session, task, settings, 1, 512)
        return ("failed", attempt.failure) if attempt.failure else ("passed", attempt.answer)

    def _no_task(self, protocol: Document, session: Session) -> tuple[str, str]:
        result, _record = run_quality(session, QualityGate("quality"), protocol, CONTEXT_TOKENS)
        return result.verdict, result.reason

    def _reasoning(self, puzzle: str, reasoning: Reasoning, session: Session) -> tuple[str, str]:
        session.reasoning = reasoning
        document = run_control(session, puzzle, 512, {"requests": 0, "with_reasoning": 0})
        return document["verdict"], document["reason"]

    def _timing(self, protocol: Document, session: Session) -> tuple[str, str]:
        run = run_capacity(session, CAPACITY, protocol)
        return judge_capacity(run, capacity_document(run, CAPACITY, protocol))

    def _together(self, protocol: Document, session: Session) -> tuple[str, str]:
        run = run_burst(session, BURST, protocol)
        return judge_burst(run, burst_document(run, BURST))


def silent(*_stage_and_text: Any, **_data: Any) -> None:
    """A control's own requests are no progress of a lane."""
