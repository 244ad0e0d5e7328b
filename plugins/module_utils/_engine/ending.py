# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an engine ended, and what its exit status means. Pure."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Exit statuses that a shell, Docker or the loader gives, and not the engine.
MEANINGS = {
    125: "Docker could not run it",
    126: "the program can't be executed",
    127: "the program was not found in the image",
}
SIGNAL_TEXTS = {
    "SIGFPE": "a floating-point exception",
    "SIGSEGV": "a segmentation fault",
    "SIGABRT": "it aborted itself",
    "SIGILL": "an illegal instruction: the build does not fit this CPU",
    "SIGBUS": "a bus error: often /dev/shm is full",
}


@dataclass(frozen=True)
class ExitStatus:
    """How an engine ended. ``oom``: the kernel killed for memory; ``ours``: we had asked it to stop; ``by``: who else did, if known."""

    code: int | None
    signal: str | None
    oom: bool
    ours: bool = False
    by: str | None = None

    def describe(self) -> str:
        if self.code is None and self.signal is None:
            return f"ended: {self.by or 'nobody knows how'}"
        if self.signal is None:
            meaning = MEANINGS.get(self.code or 0)
            return f"ended with exit status {self.code}" + (f" ({meaning})" if meaning else "")
        number = f"exit status {self.code}, " if self.code is not None else ""
        return f"killed by {self.signal} ({number}{self._reason()})"

    def _reason(self) -> str:
        if self.oom:
            return "out of memory: the kernel killed it"
        if self.ours:
            return "our own stop"
        if self.by:
            return self.by
        if self.signal == "SIGKILL":
            return "killed from outside; neither a memory limit nor a stop of ours"
        return SIGNAL_TEXTS.get(self.signal or "", "no stop of ours")


def container_exit(state: Mapping[str, Any], events: Iterable[Mapping[str, Any]], *, ours: bool) -> ExitStatus:
    """From a container's ``State`` and the engine's events about it (``oom``, ``kill`` with its signal, ``die``).

    137 alone says nothing: our bounded stop, somebody else's ``docker kill``, a memory limit and the host's own OOM killer all end so.
    """
    code = int(state.get("ExitCode") or 0)
    seen = list(events)
    oom = bool(state.get("OOMKilled")) or any(event.get("Action") == "oom" for event in seen)
    number = code - 128 if code > 128 else 0
    name = signal.Signals(number).name if number in set(signal.Signals) else None
    kills = [str(event["Actor"]["Attributes"].get("signal", "?")) for event in seen if event.get("Action") == "kill"]
    by = f"somebody stopped it through the Docker Engine, signal {', '.join(kills)}" if kills and not ours else None
    return ExitStatus(code, name, oom, ours, by)
