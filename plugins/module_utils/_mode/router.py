# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router's admission interface: asking it, closing and opening admission. Each kind brings only its own requests."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .._api.client import Client, Exchange
from .._words.errors import CampaignError
from .._words.host import Admission
from .worker_metrics import running_requests

POLL_S = 0.1
READMIT_S = 60.0


@dataclass(frozen=True)
class Worker:
    """A worker as the router lists it. ``id`` is what the router calls it; its URL names it for us."""

    id: str
    url: str
    healthy: bool


class Dialect(Protocol):
    """What differs from router to router."""

    def list(self, asker: Asker) -> list[Worker]: ...

    def remove(self, asker: Asker, worker: Worker) -> None: ...

    def add(self, asker: Asker, worker_url: str) -> None: ...


@dataclass(frozen=True)
class Asker:
    """One router's address. Fails closed: a refusal, a wrong key, a server error and silence are all faults."""

    name: str
    admission: Admission

    def ask(
        self, method: str, path: str, what: str, body: dict[str, Any] | None = None, *, accepted: tuple[int, ...] = (200,), timeout_s: float = 10.0
    ) -> Exchange:  # fmt: skip
        client = Client(self.admission.url, key_file=self.admission.key_file)
        data = None if body is None else json.dumps(body).encode()
        exchange = client.exchange(method, path, data, timeout_s=timeout_s)
        if not exchange.answered:
            raise CampaignError(f"router {self.name} can't {what}: {exchange.fault_text}", url=self.admission.url)
        if exchange.status not in accepted:
            text = exchange.body[:300].decode("utf-8", "replace").strip()
            raise CampaignError(
                f"router {self.name} can't {what}: HTTP {exchange.status} {text}", url=self.admission.url
            )
        return exchange

    def worker_key(self) -> str | None:
        """The key that workers ask for; read when it is needed and never kept."""
        file = self.admission.worker_key_file
        return Path(file).read_text(encoding="utf-8").strip() if file else None


@dataclass(frozen=True)
class Router:
    """What the mode transaction asks of a router."""

    asker: Asker
    dialect: Dialect

    def workers(self) -> list[Worker]:
        return self.dialect.list(self.asker)

    def drain(self, worker_url: str) -> str:
        """No new requests for the worker, then its running ones end within ``drain_s``. Returns how it went.

        What still runs then is cut off by the stop that follows (said so), or refused where the inventory says ``refuse``.
        """
        name, admission = self.asker.name, self.asker.admission
        found = [worker for worker in self.workers() if worker.url == worker_url]
        for worker in found:
            self.dialect.remove(self.asker, worker)
        deadline = time.monotonic() + admission.drain_s
        while any(worker.url == worker_url for worker in self.workers()):
            if time.monotonic() > deadline:
                raise CampaignError(
                    f"router {name} still lists {worker_url} {admission.drain_s:g} s after it was asked to remove it"
                )
            time.sleep(POLL_S)
        while running := running_requests(worker_url):
            if time.monotonic() > deadline:
                text = f"{running} running request{'s' if running != 1 else ''} of {worker_url} in flight after {admission.drain_s:g} s of drain"
                if admission.when_drain_ends == "refuse":
                    raise CampaignError(f"router {name}: {text} (when_drain_ends: refuse)")
                return f"drained; {text}, cut off"
            time.sleep(POLL_S)
        return "drained" if found else "was not admitted"

    def readmit(self, worker_url: str) -> bool:
        """Admits the worker and waits until the router finds it healthy. False where it already was."""
        if self._admits(worker_url):
            return False
        self.dialect.add(self.asker, worker_url)
        deadline = time.monotonic() + READMIT_S
        while not self._admits(worker_url):
            if time.monotonic() > deadline:
                raise CampaignError(
                    f"router {self.asker.name}: {worker_url} is not healthy there {READMIT_S:g} s after its readmission"
                )
            time.sleep(POLL_S)
        return True

    def _admits(self, worker_url: str) -> bool:
        return any(worker.url == worker_url and worker.healthy for worker in self.workers())


def json_object(exchange: Exchange, name: str) -> dict[str, Any]:
    """The answer's object; anything else is a fault of the router."""
    try:
        document = json.loads(exchange.body)
    except ValueError as exc:
        text = exchange.body[:200].decode("utf-8", "replace")
        raise CampaignError(f"router {name}: an answer that is no JSON: {text}") from exc
    if not isinstance(document, dict):
        raise CampaignError(f"router {name}: an answer that is no JSON object")
    return document
