# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cards once a second while gates run: one nvidia-smi that goes on by itself, its lines kept as they come."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from .._evidence.record import artifact
from .._evidence.store import Lines
from .._words.documents import to_document
from .._words.errors import CampaignError
from .._words.identity import Identity
from .energy import Sample, throttle_reasons

PROGRAMS = ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")
FIELDS = "uuid,power.draw,temperature.gpu,clocks.sm,clocks.mem,utilization.gpu,memory.used"
#: The newer name first; drivers before 535 know only the other.
REASON_FIELDS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
END_S = 3.0
WAIT_S = 2.0


class Telemetry:
    """``roles``: role name -> UUID. Without roles, or where no driver answers, there are no samples and no file."""

    def __init__(self, roles: Mapping[str, str], folder: Path, identity: Identity) -> None:
        self.roles = {uuid: role for role, uuid in roles.items()}
        self.samples: list[Sample] = []
        header = artifact("telemetry", identity, {"roles": sorted(roles), "every_s": 1.0})
        self._lines = Lines(folder / "telemetry.jsonl", header)
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Telemetry:
        if self.roles:
            self._process = start_listing(tuple(self.roles))
        if self._process is not None:
            self._thread = threading.Thread(target=self._follow, args=(self._process,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._thread is not None:
            self._process.kill()
            self._process.wait()
            self._thread.join(END_S)
        self._lines.close()

    def through(self, moment: float) -> list[Sample]:
        """All samples until a Unix time, once none of before it can come any more."""
        deadline = time.monotonic() + WAIT_S
        while self._thread is not None and self._thread.is_alive() and time.monotonic() < deadline:
            if self.samples and self.samples[-1].t > moment:
                break
            time.sleep(0.02)
        return [sample for sample in self.samples if sample.t <= moment]

    def _follow(self, process: subprocess.Popen[str]) -> None:
        """A full disk ends the telemetry, not the gates."""
        for line in process.stdout or ():
            sample = sample_of(line, time.time(), self.roles)
            if sample is None:
                continue
            self.samples.append(sample)
            try:
                self._lines.append({"schema": "tandem.telemetry-sample/v1", **to_document(sample)})
            except CampaignError:
                return


def start_listing(uuids: Sequence[str]) -> subprocess.Popen[str] | None:
    """An nvidia-smi that writes a line a second and card; None where none will."""
    for program in PROGRAMS:
        for reasons in REASON_FIELDS:
            query = [
                program,
                f"--query-gpu={FIELDS},{reasons}",
                "--format=csv,noheader,nounits",
                f"--id={','.join(uuids)}",
            ]
            try:
                once = subprocess.run(query, capture_output=True, timeout=10.0, check=False)
                if once.returncode == 0:
                    return subprocess.Popen(
                        [*query, "--loop-ms=1000"],
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        stdin=subprocess.DEVNULL,
                        text=True,
                    )
            except (OSError, subprocess.TimeoutExpired):
                break
    return None


def sample_of(line: str, t: float, roles: Mapping[str, str]) -> Sample | None:
    """One line of the listing; None for a card that is no role's or a line of another shape. ``[N/A]`` is no value."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != 8 or parts[0] not in roles:
        return None
    power, temperature, sm, memory_clock, used, memory = (_number(part) for part in parts[1:7])
    return Sample(
        round(t, 3), roles[parts[0]], power, temperature, sm, memory_clock, used, memory, throttle_reasons(parts[7])
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
