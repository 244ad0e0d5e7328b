"""Starts the demo host's services that aren't running yet and waits until all answer.

Reads ``campaign_services`` as JSON on standard input. A service that ends while it is waited for (a port that somebody
had for a moment) is started again, up to `STARTS` times; what doesn't come up is told with the end of its log.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

#: A first start reads the weights from a cold disk, and a router its models list: a slow machine needs minutes.
WAIT_S = 180.0
STARTS = 3
LOG_LINES = 20
#: State of a listening socket in `/proc/net/tcp`.
LISTEN = "0A"


class ServiceError(Exception):
    """A service that can't be started or doesn't answer, and why."""


class Service:
    """One of the services. ``spec`` has its ``argv``, ``cwd``, ``log`` and ``health.url``."""

    def __init__(self, name: str, spec: dict[str, Any]) -> None:
        self.name = name
        self.argv: list[str] = spec["argv"]
        self.folder = Path(spec["cwd"])
        self.log = Path(spec["log"])
        self.url: str = spec["health"]["url"]
        self.port = urllib.parse.urlsplit(self.url).port or 80
        self.starts = 0
        self.process: subprocess.Popen[bytes] | None = None

    def is_there(self) -> bool:
        """Whether it runs already. Raises `ServiceError` where somebody else has its port."""
        sockets = listeners(self.port)
        if not sockets:
            return False
        if any(
            holds(process, sockets) and same_folder(process, self.folder) for process in Path("/proc").glob("[0-9]*")
        ):
            return True
        raise ServiceError(
            f"port {self.port} of {self.name} is taken by another program (another checkout's demo? run make demo-stop there)"
        )

    def start(self) -> None:
        """In a session of its own, so that it outlives us."""
        self.starts += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def answers(self) -> bool:
        """Whether its health address says 200. One that has ended is started again; raises `ServiceError` after `STARTS`."""
        code = self.process.poll() if self.process else None
        if code is not None:
            if self.starts >= STARTS:
                raise ServiceError(f"{self.name} ended with {code}, {self.starts} times; {self.last_lines()}")
            self.start()
            return False
        try:
            with urllib.request.urlopen(self.url, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def last_lines(self) -> str:
        """The end of its log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        except OSError as error:
            return f"its log can't be read: {error}"
        return "\n".join([f"the end of {self.log}:", *lines])


def listeners(port: int) -> set[str]:
    """The links that `/proc/PID/fd` has for sockets that listen on ``port`` (IPv4)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == LISTEN and int(row[1].rpartition(":")[2], 16) == port}


def holds(process: Path, sockets: set[str]) -> bool:
    """Whether ``process`` (`/proc/PID`) has one of ``sockets`` open."""
    try:
        return any(str(entry.readlink()) in sockets for entry in (process / "fd").iterdir())
    except OSError:
        return False


def same_folder(process: Path, folder: Path) -> bool:
    """Whether ``process`` works in ``folder``."""
    try:
        return (process / "cwd").resolve() == folder.resolve()
    except OSError:
        return False


def start_all(services: list[Service], wait_s: float = WAIT_S) -> list[str]:
    """Names of those that were started. Raises `ServiceError`."""
    missing = [service for service in services if not service.is_there()]
    for service in missing:
        service.start()
    waiting = list(services)
    limit = time.monotonic() + wait_s
    while waiting:
        waiting = [service for service in waiting if not service.answers()]
        if waiting and time.monotonic() > limit:
            late = "\n".join(
                f"{service.name} doesn't answer at {service.url}; {service.last_lines()}" for service in waiting
            )
            raise ServiceError(f"after {wait_s:.0f} s:\n{late}")
        time.sleep(0.1)
    return [service.name for service in missing]


def main() -> int:
    """Prints a line for each service that was started."""
    try:
        for name in start_all([Service(name, spec) for name, spec in json.load(sys.stdin).items()]):
            print(f"started {name}")
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
