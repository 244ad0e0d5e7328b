# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker Engine over its socket: look, start, stop, kill; each call with a deadline of its own. Standard library only.

The keeper has to give a host back with nothing but the system's Python, so neither the docker SDK nor the CLI is used here.
API: https://docs.docker.com/reference/api/engine/ (fields used are the same from 1.41 to 1.52).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .._api.client import Client, Exchange
from .._words.errors import CampaignError
from .container import Container, container_of, plain_log

CALL_S = 10.0
#: What a stop call may take beyond the time it was given, before it counts as hung (docker/for-win#13320).
STALL_S = 2.0
KILL_S = 10.0
POLL_S = 0.05
LOG_LINES = 20


class Docker:
    """One engine, by its socket's path."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.client = Client(f"unix://{socket}", connect_s=2.0)

    def inspect(self, name: str) -> dict[str, Any] | None:
        """The document of a container by name or id; None where there is none."""
        exchange = self.ask("GET", f"/containers/{quote(name)}/json", f"look at container {name}", (200, 404))
        return None if exchange.status == 404 else json.loads(exchange.body)

    def container(self, name: str) -> Container | None:
        """None where there is none of that name."""
        document = self.inspect(name)
        return None if document is None else container_of(document)

    def running_ids(self) -> list[str]:
        """Ids of the running containers."""
        listing = json.loads(self.ask("GET", "/containers/json", "list the running containers", (200,)).body)
        return [str(item["Id"]) for item in listing]

    def info(self) -> dict[str, Any]:
        """GET /info."""
        document: dict[str, Any] = json.loads(self.ask("GET", "/info", "describe itself", (200,)).body)
        return document

    def is_desktop(self) -> bool:
        """Docker Desktop keeps its containers in a machine of its own, whose paths can't be seen from here."""
        return "desktop" in str(self.info().get("OperatingSystem", "")).lower()

    def version(self) -> dict[str, Any]:
        """GET /version."""
        document: dict[str, Any] = json.loads(self.ask("GET", "/version", "tell its version", (200,)).body)
        return document

    def has_image(self, image: str) -> bool:
        return self.ask("GET", f"/images/{quote(image)}/json", f"look at image {image}", (200, 404)).status == 200

    def has_volume(self, name: str) -> bool:
        return self.ask("GET", f"/volumes/{quote(name)}", f"look at volume {name}", (200, 404)).status == 200

    def start(self, name: str) -> None:
        """Raises :class:`CampaignError` with the engine's own reason (a port that is taken, an image that is gone)."""
        self.ask("POST", f"/containers/{quote(name)}/start", f"start container {name}", (204, 304), timeout_s=60.0)

    def set_restart_policy(self, name: str, policy: Mapping[str, Any]) -> None:
        """``{"Name": "no"}`` keeps a stopped container stopped when the engine itself restarts."""
        body = json.dumps({"RestartPolicy": dict(policy)}).encode()
        what = f"set the restart policy of {name} to {policy.get('Name')!r}"
        self.ask("POST", f"/containers/{quote(name)}/update", what, (200,), body=body)

    def stop(self, name: str, stop_s: float) -> str:
        """SIGTERM, SIGKILL after ``stop_s``; a stop call that doesn't return is followed by a kill. Returns how it went.

        Raises where the container still runs then. It is never removed: what was removed can't be started again.
        """
        path = f"/containers/{quote(name)}/stop?t={math.ceil(stop_s)}"
        begun = time.monotonic()
        exchange = self.client.post(path, b"", timeout_s=math.ceil(stop_s) + STALL_S)
        if exchange.status == 304:
            return "gone"
        if exchange.status == 204:
            ended = self.container(name)
            return "killed" if ended and ended.exit_code == 137 and time.monotonic() - begun >= stop_s else "terminated"
        if exchange.answered:
            raise CampaignError(_refusal(f"stop container {name}", exchange), container=name)
        if self._wait_ended(name, 0.0):
            return "terminated (the stop call did not return)"
        self.kill(name)
        if not self._wait_ended(name, KILL_S):
            raise CampaignError(
                f"container {name} still runs {KILL_S:g} s after a kill, and its stop call did not return; "
                "restart the Docker Engine, then run restore.yml",
                container=name,
            )
        return f"stopped by force (the stop call did not return within {math.ceil(stop_s) + STALL_S:g} s)"

    def log_tail(self, name: str, lines: int | str = LOG_LINES) -> str:
        """The last output of both streams (``all``: the whole log); empty where it can't be read."""
        exchange = self.client.get(f"/containers/{quote(name)}/logs?stdout=1&stderr=1&tail={lines}", timeout_s=CALL_S)
        return plain_log(exchange.body) if exchange.status == 200 else ""

    def kill(self, name: str) -> None:
        """SIGKILL, without waiting for the end."""
        # 409: it is not running any more. A kill that hangs is as good as none: the wait after it decides.
        self.client.post(f"/containers/{quote(name)}/kill", b"", timeout_s=KILL_S)

    def _wait_ended(self, name: str, limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while True:
            container = self.container(name)
            if container is None or not container.running:
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)

    def ask(
        self,
        method: str,
        path: str,
        what: str,
        accepted: tuple[int, ...],
        *,
        body: bytes | None = None,
        timeout_s: float = CALL_S,
    ) -> Exchange:
        """One call with its own deadline. Raises :class:`CampaignError` naming ``what`` and the engine's own reason.

        A look whose connection broke is made once more (RFC 9110 §9.2.2: a GET may be repeated); nothing that changes something is.
        """
        exchange = self.client.exchange(method, path, body, timeout_s=timeout_s)
        if method == "GET" and exchange.fault in ("transport", "cut"):
            exchange = self.client.exchange(method, path, body, timeout_s=timeout_s)
        if not exchange.answered:
            raise CampaignError(
                f"the Docker Engine at {self.socket} can't {what}: {exchange.fault_text}", socket=self.socket
            )
        if exchange.status not in accepted:
            raise CampaignError(_refusal(what, exchange), socket=self.socket)
        return exchange


def _refusal(what: str, exchange: Exchange) -> str:
    try:
        text = str(json.loads(exchange.body)["message"])
    except (ValueError, KeyError, TypeError):
        text = exchange.body[:300].decode("utf-8", "replace")
    return f"Docker refuses to {what}: {text.strip()} (HTTP {exchange.status})"
