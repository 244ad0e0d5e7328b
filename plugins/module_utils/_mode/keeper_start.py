# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the keeper as a process of its own session, which outlives whoever has started it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from .._words.documents import canonical_json, to_document
from .._words.errors import CampaignError, RefusedError
from .._words.host import HostDeclaration
from .._words.identity import Identity

#: The keeper's environment: nothing of a campaign's own is handed on.
KEEPER_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")


class WaitingKeeper:
    """A keeper that has been started and waits for its request. Left without one it ends, and nothing has happened."""

    def __init__(self, state_dir: Path, program: str) -> None:
        self.state_dir = state_dir
        state_dir.mkdir(parents=True, exist_ok=True)
        # Logs of engines and services' declarations lie in here: nobody else's business on a shared machine.
        state_dir.chmod(0o700)
        environment = {name: os.environ[name] for name in KEEPER_ENVIRONMENT if name in os.environ}
        with (state_dir / "keeper.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", program, "watch", "--state-dir", str(state_dir)],
                cwd="/", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.reserved = False

    def __enter__(self) -> WaitingKeeper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                # One that died has broken its pipe; what it had to say was read.
                with contextlib.suppress(OSError):
                    pipe.close()
        if not self.reserved:
            # Until it is gone, its lock looks like that of somebody who has the host.
            self.process.wait(10)

    def reserve(self, campaign: str, host: HostDeclaration, identity: Identity) -> dict[str, Any]:
        """Tells it to take the host; returns the holder of a stale lock, if it found one. Raises :class:`RefusedError` with its reason."""
        document = {"campaign": campaign, "host": to_document(host), "identity": to_document(identity)}
        line = b""
        if self.process.stdin is not None and self.process.stdout is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(canonical_json(document).encode())
                self.process.stdin.close()
            line = self.process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError as exc:
            raise CampaignError(f"the keeper did not start; see {self.state_dir}/keeper.log") from exc
        if "refused" in answer:
            raise RefusedError(answer["refused"])
        self.reserved = True
        return dict(answer.get("stale") or {})
