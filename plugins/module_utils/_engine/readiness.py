# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three proofs of readiness, asked for again and again: health, the served name, one real completion."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from .._api import requests
from .._api.client import Client, Exchange
from .._api.replies import read_reply
from .._words.errors import CampaignError, EngineError
from .._words.plan import LaunchPlan
from .._words.text import plain
from .pages import as_object

#: Nobody listens yet: a try costs nothing. A server that answers writes each request to its log.
REFUSED_S, ANSWERED_S = 0.03, 0.1
HEALTH_S = 25.0
#: Statuses that waiting won't change. 429 and 503 are a server that is busy or starting.
HOPELESS = range(400, 500)
BUSY = (408, 425, 429)


class Prober:
    """Asks until it is ready, stopped, or sure that it never will be. ``missing`` is what it waits for."""

    def __init__(self, plan: LaunchPlan, tell: Callable[[CampaignError | str], None]) -> None:
        self.plan, self._tell = plan, tell
        self._client = Client(plan.base_url, key_file=plan.key_file, connect_s=1.0)
        self._stop = threading.Event()
        self._deadline = time.monotonic() + plan.start_s
        self.missing = "health"
        self.last = ""
        #: Something answered at the address; since when a generation is under way that has not come back.
        self.answered = False
        self.generating: float | None = None

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        """Tells ``ready``, or the fault that waiting won't mend."""
        try:
            while not self._stop.is_set():
                self.missing = self._missing()
                if not self.missing:
                    self._tell("ready")
                    return
                self._stop.wait(ANSWERED_S if self.answered else REFUSED_S)
        except CampaignError as exc:
            self._tell(exc)
        except Exception as exc:  # a fault of our own: told at once, instead of a thread that is silently gone
            self._tell(EngineError(f"readiness could not be asked for: {type(exc).__name__}: {exc}", stage="probe"))

    def describe(self) -> str:
        """What was missing at the end, and what the engine said last."""
        if self.generating is not None:
            waited = time.monotonic() - self.generating
            return f"health answers 200, but the first generation request had no answer for {waited:.0f} s"
        return f"no {self.missing}" + (f" ({self.last})" if self.last else "")

    def _missing(self) -> str:
        health = self._client.get("/health", timeout_s=HEALTH_S)
        self.answered = health.status is not None
        if health.status != 200:
            self._judge(health, "/health")
            return "health"
        listing = self._client.get("/v1/models")
        if listing.status != 200:
            self._judge(listing, "/v1/models")
            return "model list"
        rows = as_object(listing.body).get("data")
        names = [str(item.get("id")) for item in (rows if isinstance(rows, list) else []) if isinstance(item, dict)]
        if self.plan.served_name not in names:
            self.last = f"the server lists {', '.join(names) or 'none'}"
            return f"model {self.plan.served_name!r} in /v1/models"
        return self._generate()

    def _generate(self) -> str:
        """The smallest request that makes the engine compute. It has all the time that is left: the first one may compile kernels."""
        messages = [{"role": "user", "content": "Say ok."}]
        body = requests.chat(self.plan.served_name, messages, max_tokens=4, stream=False)
        self.generating = time.monotonic()
        left = max(1.0, self._deadline - time.monotonic())
        exchange = self._client.post("/v1/chat/completions", requests.encode(body), timeout_s=left)
        if exchange.answered:
            # A connection that broke instead may be the engine's death, which its end watch tells a moment later.
            self.generating = None
        if exchange.status != 200:
            self._judge(exchange, "/v1/chat/completions")
            return "a real completion"
        reply = read_reply(exchange, streamed=False)
        self.last = "the answer was empty"
        return "" if reply.completion_tokens or reply.content or reply.reasoning else "a real completion"

    def _judge(self, exchange: Exchange, path: str) -> None:
        """Raises for an answer that waiting won't change; a wrong or missing key is one, and the key is never shown."""
        if exchange.status is None:
            self.last = ""
            return
        self.last = plain(f"{path} answers {exchange.status} {exchange.body[:160].decode('utf-8', 'replace')}", 240)
        if exchange.status in (401, 403):
            way = (
                "campaign_engine_key_file holds another key"
                if self.plan.key_file
                else "name its file in campaign_engine_key_file"
            )
            raise EngineError(
                f"the engine is up but locked: {path} answers HTTP {exchange.status} (unauthorized, a key is wrong or missing); {way}",
                stage="locked",
            )
        if path != "/health" and exchange.status in HOPELESS and exchange.status not in BUSY:
            raise EngineError(f"the engine refuses the first request: {self.last}", stage="refused")
