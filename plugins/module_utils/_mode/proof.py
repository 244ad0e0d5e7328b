# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof that a router's traffic reaches a worker, or doesn't: small requests, and the worker's own counter before and after.

A router may ignore ``model`` and send the request elsewhere, so neither its listing nor its answer proves anything alone.
"""

from __future__ import annotations

import json
import secrets
import time
from concurrent.futures import ThreadPoolExecutor

from .._api.client import Client, Exchange
from .._words.errors import CampaignError
from .router import Router, json_object
from .worker_metrics import running_requests, served

#: An engine may update its counter a little after it has answered.
COUNTER_S = 2.0
REQUEST_S = 60.0
BURSTS = 2
BURST_TOKENS = 16
#: Somebody may ask the worker directly meanwhile; only a counter that rises each time speaks of the router.
CLOSED_TRIES = 3
CLOSED_S = 0.2


def prove_admitted(router: Router, worker_url: str) -> str:
    """Returns the proof in words. Raises :class:`CampaignError` where the worker isn't reached, or the proof asked for can't be had."""
    name, kind = router.asker.name, router.asker.admission.proof
    workers = router.workers()
    if not any(worker.url == worker_url and worker.healthy for worker in workers):
        raise CampaignError(f"router {name} doesn't list {worker_url} as healthy")
    if kind == "listed":
        return "listed as healthy (no request was made: proof: listed)"
    model = served_model(router, worker_url)
    before = served(worker_url)
    if kind == "counter" and before is None:
        raise CampaignError(
            f"{worker_url} shows no request counter at /metrics, so it can't be proven that router {name} reaches it. "
            "Let the engine serve its metrics, or be content with less: admission.proof: model, or listed"
        )
    # One request first. Where another worker got it, as many at once as make each worker busy: an idle router may prefer one of them.
    said: list[str] = []
    for at_once in (1, *(2 * len(workers),) * BURSTS):
        said = _answers(router, worker_url, model, at_once)
        if model in said and (kind == "model" or _rises(worker_url, before or 0.0)):
            return f"{model} answered" + ("" if kind == "model" else ", and the engine's own counter rose")
    raise CampaignError(
        f"router {name} was asked for {model!r}; {', '.join(map(repr, sorted(set(said))))} answered, but the backend {worker_url} "
        "counted no request"
    )


def _answers(router: Router, worker_url: str, model: str, count: int) -> list[str]:
    """The models that answered ``count`` requests sent at once. Raises :class:`CampaignError` at the first that is no answer."""
    with ThreadPoolExecutor(max_workers=count) as pool:
        exchanges = list(
            pool.map(lambda _number: _complete(router, model, 1 if count == 1 else BURST_TOKENS), range(count))
        )
    name = router.asker.name
    for exchange in exchanges:
        if exchange.status != 200:
            text = (
                exchange.fault_text
                or f"HTTP {exchange.status} {exchange.body[:200].decode('utf-8', 'replace').strip()}"
            )
            raise CampaignError(
                f"router {name} does not reach the backend {worker_url} with a request for {model!r}: {text}"
            )
    return [str(json_object(exchange, name).get("model")) for exchange in exchanges]


def prove_closed(router: Router, worker_url: str, model: str) -> str:
    """After a drain: a request for the worker's model isn't answered by it. Only the worker's own counter can tell."""
    if router.asker.admission.proof != "counter" or served(worker_url) is None:
        return "by the router's listing"
    if running_requests(worker_url):
        return "by the router's listing; requests still run, so the worker's counter tells nothing"
    for _try in range(CLOSED_TRIES):
        before = served(worker_url) or 0.0
        exchange = _complete(router, model, 1)
        if exchange.status != 200:
            return f"a request for {model} is refused ({exchange.fault_text or f'HTTP {exchange.status}'})"
        time.sleep(CLOSED_S)
        if (served(worker_url) or 0.0) <= before:
            return f"a request for {model} goes to another worker"
    raise CampaignError(f"router {router.asker.name} doesn't list {worker_url} any more, but still sends it requests")


def served_model(router: Router, worker_url: str) -> str:
    """The model that the worker itself serves."""
    exchange = Client(worker_url, key_file=router.asker.admission.worker_key_file).get("/v1/models")
    if exchange.status != 200:
        what = exchange.fault_text or f"HTTP {exchange.status}"
        raise CampaignError(
            f"{worker_url} doesn't list its model: {what}. It is needed to prove that router {router.asker.name} reaches it"
        )
    listing = json_object(exchange, worker_url).get("data") or []
    if not listing:
        raise CampaignError(f"{worker_url} lists no model")
    return str(listing[0]["id"])


def _complete(router: Router, model: str, max_tokens: int) -> Exchange:
    """A short answer to a prompt that no cache knows: neither the engine's nor a router's that sends like prompts to one worker."""
    prompt = f"{secrets.token_hex(8)} Say ok."
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
    }
    admission = router.asker.admission
    client = Client(admission.url, key_file=admission.data_key_file or admission.key_file)
    return client.post("/v1/chat/completions", json.dumps(body).encode(), timeout_s=REQUEST_S)


def _rises(worker_url: str, before: float) -> bool:
    deadline = time.monotonic() + COUNTER_S
    while (served(worker_url) or 0.0) <= before:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
