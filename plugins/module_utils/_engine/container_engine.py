# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A running container: its log on disk while it runs, its end the moment it comes, its exit status with a reason."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._api.stream import Stream
from .._host import docker_containers as containers
from .._host.container import LogFrames
from .._host.docker import Docker
from .._words.errors import CampaignError
from .ending import ExitStatus, container_exit

#: Between tries to hear of the container again, where the engine's socket went away (a daemon that restarts).
RETRY_S = 0.5
FLUSH_S = 1.0


class ContainerEngine:
    """Lives in the keeper."""

    def __init__(self, docker: Docker, identifier: str, plan_sha256: str) -> None:
        self.docker, self.id, self.plan_sha256 = docker, identifier, plan_sha256
        self.ended: ExitStatus | None = None
        self.follower: threading.Thread | None = None

    def identity(self) -> dict[str, Any]:
        return {"runtime": "docker", "id": self.id}

    def reap(self) -> None:
        """Docker does it."""

    def exit_status(self) -> ExitStatus | None:
        """None while it runs, and while the engine's socket doesn't answer: that says nothing of the container."""
        if self.ended is None:
            with contextlib.suppress(CampaignError):
                self.ended = self._look()
            if self.ended is not None and self.follower is not None:
                # Whoever hears of the end reads the last lines next.
                self.follower.join(FLUSH_S)
        return self.ended

    def _look(self) -> ExitStatus | None:
        document = self.docker.inspect(self.id)
        if document is None:
            return ExitStatus(None, None, oom=False, by="its container is gone: somebody removed it")
        if document["State"]["Status"] in ("created", "running", "paused", "restarting"):
            return None
        state = document["State"]
        return container_exit(state, containers.kills_of(self.docker, self.id, state), ours=False)

    def follow(self, log: Path) -> None:
        """Copies the log to ``log`` for as long as the container runs, in a thread of its own."""
        self.follower = threading.Thread(target=self._copy, args=(log,), daemon=True)
        self.follower.start()

    def _copy(self, log: Path) -> None:
        with contextlib.suppress(CampaignError, OSError), log.open("ab", buffering=0) as file:
            stream, frames = containers.follow_log(self.docker, self.id), LogFrames()
            for piece in stream.pieces():
                file.write(frames.feed(piece))


class ContainerWatch:
    """The engine's event stream; where it breaks the container is looked at until the stream stands again."""

    def __init__(self, docker: Docker, identifier: str, on_end: Callable[[], None]) -> None:
        self.docker, self.id, self.on_end = docker, identifier, on_end
        self.closed = False
        self.stream: Stream | None = None
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        self.closed = True
        if self.stream is not None:
            self.stream.close()

    def _watch(self) -> None:
        while not self.closed:
            if self._ended():
                self.on_end()
                return
            time.sleep(RETRY_S)

    def _ended(self) -> bool:
        """Listens first and looks then, so that an end between the two is not missed."""
        try:
            self.stream = containers.follow_events(self.docker, self.id)
            container = self.docker.container(self.id)
            if container is None or (not container.running and container.status != "created"):
                return True
            return any(json.loads(line).get("Action") in ("die", "destroy") for line in self.stream.lines())
        except (CampaignError, ValueError):
            return False
