# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for readiness: one thread asks the engine, another listens for its end; whichever comes first decides."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._words.documents import to_document
from .._words.errors import CampaignError, EngineError
from .._words.plan import LaunchPlan
from .._words.signature import Signature
from .._words.text import plain, plain_lines
from .diagnosis import diagnose
from .readiness import Prober
from .runtime import Runtime
from .startup_log import last_line, read_tail, silent_s

#: How often it is told how far the load is, and the engine looked at should its end watch be of no use.
TELL_S = 2.0
LOG_TAIL = 25
SETTLE_S = 2.0

#: The keeper's answer about the engine: ``{running, exit_text, identity, …}`` or None where none was started.
Status = Callable[[], "dict[str, Any] | None"]


@dataclass(frozen=True)
class Loading:
    """One load to be waited for. ``where`` names image and devices, for faults that come from their not fitting each other.

    ``signatures`` tell what is known of engines' logs.
    """

    plan: LaunchPlan
    runtime: Runtime
    identity: Mapping[str, Any]
    status: Status
    log: Path
    tell: Callable[[str], None]
    where: str = ""
    signatures: tuple[Signature, ...] = ()
    #: What the kernel has said of the GPUs since the start, in whose log a fault may show that the engine only feels.
    kernel: Callable[[], str] = str

    def wait_ready(self) -> float:
        """Seconds until health answers, the served name is listed and one real completion came back.

        Raises :class:`EngineError` as soon as the engine has ended, and after ``plan.start_s``; both with the last log lines.
        """
        happened: queue.Queue[CampaignError | str] = queue.Queue()
        prober = Prober(self.plan, happened.put)
        watch = self.runtime.watch(self.identity, lambda: happened.put("ended"))
        threading.Thread(target=prober.run, daemon=True).start()
        try:
            return self._wait(prober, happened)
        finally:
            prober.stop()
            watch.close()

    def _wait(self, prober: Prober, happened: queue.Queue[CampaignError | str]) -> float:
        start, limit = time.monotonic(), self.plan.start_s
        while (elapsed := time.monotonic() - start) < limit:
            try:
                event = happened.get(timeout=min(TELL_S, limit - elapsed))
            except queue.Empty:
                event = ""
            if isinstance(event, CampaignError):
                raise self._failure(str(event), stage=str(event.facts.get("stage", "refused"))) from event
            engine = self._settled() if event == "ended" else self.status()
            elapsed = time.monotonic() - start
            if event == "ended" or engine is None or not engine["running"]:
                raise self._ended(prober, engine, elapsed)
            if event == "ready":
                return elapsed
            last = last_line(self.log)
            text = f"loading {elapsed:.0f} s of {limit:g} s, waiting for {prober.missing}"
            self.tell(text + (f" | {last}" if last else ""))
        raise self._stalled(prober)

    def _settled(self) -> dict[str, Any] | None:
        """The engine's status once its end has reached who has started it, which may be a moment after it has reached us."""
        deadline = time.monotonic() + SETTLE_S
        while (engine := self.status()) is not None and engine["running"] and time.monotonic() < deadline:
            time.sleep(0.01)
        return engine

    def _ended(self, prober: Prober, engine: dict[str, Any] | None, elapsed: float) -> EngineError:
        ending = (engine["exit_text"] or "ended") if engine else "was never started"
        when = "on its first generation" if prober.generating is not None else "before it was ready"
        other = (
            f"; what answers at {self.plan.base_url} is not this engine"
            if prober.answered and prober.generating is None
            else ""
        )
        return self._failure(f"the engine {ending} after {elapsed:.1f} s, {when}{other}", stage="exited")

    def _stalled(self, prober: Prober) -> EngineError:
        """With the time of the last sign of life, so that slow and stuck can be told apart."""
        limit, quiet = self.plan.start_s, silent_s(self.log)
        alive = "its log is empty"
        if quiet is not None:
            alive = f"its last log line came at {max(0.0, limit - quiet):.0f} s, {quiet:.0f} s before the end"
        return self._failure(
            f"the engine is not ready after {limit:g} s (limits.start_s): {prober.describe()}; {alive}", stage="timeout"
        )

    def _failure(self, text: str, *, stage: str) -> EngineError:
        log = read_tail(self.log)
        tail = plain_lines(log, LOG_TAIL)
        shown = "\n  ".join(tail[-8:]) or "(the log is empty)"
        seen = f"{log}\n{self.kernel()}"
        finding = diagnose(seen, self.signatures, self.plan.environment, stalled=stage == "timeout")
        cause = f" {finding.sentence(self.where)}." if finding else ""
        return EngineError(
            f"{self.plan.recipe}: {plain(text, 600)}.{cause} Last log lines:\n  {shown}",
            recipe=self.plan.recipe,
            stage=stage,
            cause=to_document(finding),
            log_tail=tail,
        )
