# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers behind one small interface: list, drain, readmit, prove. Built: ``sglang`` (sglang-router's /workers API)."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Any, Protocol

from .._api.client import Client, Exchange
from .._words.errors import CampaignError, RefusedError
from .._words.host import Admission

POLL_S = 0.2
READMIT_S = 60.0
RUNNING_GAUGE = re.compile(
    rb"^(?:llamacpp:requests_processing|vllm:num_requests_running|sglang:num_running_reqs)(?:\{[^}]*\})? ([0-9.e+]+)",
    re.M,
)


@dataclass(frozen=True)
class Worker:
    """A worker as the router lists it."""

    id: str
    url: str
    healthy: bool


class Router(Protocol):
    """What the mode transaction asks of a router."""

    def workers(self) -> list[Worker]: ...

    def drain(self, worker_url: str) -> bool: ...

    def readmit(self, worker_url: str) -> bool: ...

    def prove(self, worker_url: str) -> str: ...


class SglangRouter:
    """sglang-router 0.3: GET/POST /workers, DELETE /workers/{id}. A readmitted worker gets a new id, so its URL names it."""

    def __init__(self, name: str, admission: Admission) -> None:
        self.name = name
        self.admission = admission
        self.client = Client(admission.url, key_file=admission.key_file)

    def workers(self) -> list[Worker]:
        document = _json(self._ask(self.client.get("/workers"), "list its workers"))
        return [
            Worker(item["id"], item["url"].rstrip("/"), bool(item.get("is_healthy")))
            for item in document.get("workers", [])
        ]

    def drain(self, worker_url: str) -> bool:
        """No new requests for the worker, then its running ones end within ``drain_s``. False where it was not admitted."""
        found = [worker for worker in self.workers() if worker.url == worker_url]
        for worker in found:
            self._ask(self.client.delete(f"/workers/{worker.id}"), f"drain {worker_url}", accepted=(200, 202, 404))
        deadline = time.monotonic() + self.admission.drain_s
        while any(worker.url == worker_url for worker in self.workers()) or running_requests(worker_url):
            if time.monotonic() > deadline:
                raise CampaignError(
                    f"router {self.name}: {worker_url} still serves requests {self.admission.drain_s:g} s after it was drained"
                )
            time.sleep(POLL_S)
        return bool(found)

    def readmit(self, worker_url: str) -> bool:
        """Admits the worker and waits until the router finds it healthy. False where it already was."""
        if any(worker.url == worker_url and worker.healthy for worker in self.workers()):
            return False
        self._ask(
            self.client.post("/workers", json.dumps({"url": worker_url}).encode()),
            f"readmit {worker_url}",
            accepted=(200, 202),
        )
        deadline = time.monotonic() + READMIT_S
        while not any(worker.url == worker_url and worker.healthy for worker in self.workers()):
            if time.monotonic() > deadline:
                raise CampaignError(
                    f"router {self.name}: {worker_url} is not healthy there {READMIT_S:g} s after its readmission"
                )
            time.sleep(POLL_S)
        return True

    def prove(self, worker_url: str) -> str:
        """One completion through the router, answered by the worker's own model. Returns that model's name."""
        listing = _json(self._ask(Client(worker_url).get("/v1/models"), f"list the models of {worker_url}"))
        model = str(listing["data"][0]["id"])
        body = {"model": model, "messages": [{"role": "user", "content": "Say ok."}], "max_tokens": 1, "temperature": 0}
        answer = _json(
            self._ask(
                self.client.post("/v1/chat/completions", json.dumps(body).encode()), f"route a request to {worker_url}"
            )
        )
        if answer.get("model") != model:
            raise CampaignError(f"router {self.name}: asked for {model!r}, {answer.get('model')!r} answered")
        return model

    def _ask(self, exchange: Exchange, what: str, accepted: tuple[int, ...] = (200,)) -> Exchange:
        """Fails closed: a refusal, a wrong key, a server error and silence are all faults."""
        if not exchange.answered:
            raise CampaignError(f"router {self.name} can't {what}: {exchange.fault_text}", url=self.admission.url)
        if exchange.status not in accepted:
            text = exchange.body[:300].decode("utf-8", "replace").strip()
            raise CampaignError(
                f"router {self.name} can't {what}: HTTP {exchange.status} {text}", url=self.admission.url
            )
        return exchange


ROUTERS = {"sglang": SglangRouter}


def router_for(name: str, admission: Admission) -> Router:
    """The router's hand. A kind that is not built is refused by name."""
    if admission.api not in ROUTERS:
        raise RefusedError(
            f"router {name}: admission.api {admission.api!r} is not built in this version ({', '.join(ROUTERS)} is)"
        )
    return ROUTERS[admission.api](name, admission)


def running_requests(worker_url: str) -> int:
    """What the engine itself counts as running; 0 where it doesn't say or is gone."""
    exchange = Client(worker_url, connect_s=1.0).get("/metrics", timeout_s=2.0)
    match = RUNNING_GAUGE.search(exchange.body) if exchange.status == 200 else None
    return int(float(match[1])) if match else 0


def _json(exchange: Exchange) -> dict[str, Any]:
    try:
        document = json.loads(exchange.body)
    except ValueError as exc:
        raise CampaignError(f"an answer that is no JSON: {exchange.body[:200].decode('utf-8', 'replace')}") from exc
    if not isinstance(document, dict):
        raise CampaignError("an answer that is no JSON object")
    return document
