# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several requests at one moment, a thread each, and the engine's own count of those that wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from .._api.client import Client, Exchange
from .._api.replies import read_reply
from .._words.events import Reply

#: How often the engine is asked meanwhile; its page is small, and asking more often would be load of our own.
ASK_EVERY_S = 0.1


@dataclass(frozen=True)
class Sent:
    """One of them. ``after_ns``: when it was handed over, from the first one on."""

    after_ns: int
    reply: Reply


def send_together(
    client: Client, bodies: Sequence[bytes], waiting_requests: Callable[[Client], int | None], timeout_s: float
) -> tuple[tuple[Sent, ...], tuple[int, ...]]:
    """(what came of each chat stream in the order of ``bodies``, the counts of waiting requests until all had ended)."""
    start = threading.Barrier(len(bodies) + 1)

    # Parsed after all have ended: nothing but read and clock while any of them streams.
    def send(body: bytes) -> tuple[int, Exchange]:
        start.wait()
        at = time.monotonic_ns()
        return at, client.post("/v1/chat/completions", body, timeout_s=timeout_s)

    with ThreadPoolExecutor(len(bodies)) as pool:
        futures = [pool.submit(send, body) for body in bodies]
        start.wait()
        waiting = tuple(_counts(client, waiting_requests, futures))
    done = [future.result() for future in futures]
    first = min(at for at, _exchange in done)
    return tuple(Sent(at - first, read_reply(exchange, streamed=True)) for at, exchange in done), waiting


def _counts(
    client: Client, waiting_requests: Callable[[Client], int | None], futures: Sequence[Future[tuple[int, Exchange]]]
) -> list[int]:
    """Asks until all have ended; an engine that doesn't say is asked once."""
    counts: list[int] = []
    while wait(futures, timeout=ASK_EVERY_S).not_done:
        count = waiting_requests(client)
        if count is None:
            break
        counts.append(count)
    return counts
