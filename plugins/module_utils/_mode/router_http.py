# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router described by its requests (``admission.http``), for gateways that no other kind knows."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from .._words.errors import CampaignError
from .._words.host import HttpCall, HttpRouter
from .router import Asker, Worker, json_object


class HttpDialect:
    """Lists, removes and adds by the declared requests. A listing without health counts what it lists as healthy."""

    def __init__(self, calls: HttpRouter) -> None:
        self.calls = calls

    def list(self, asker: Asker) -> list[Worker]:
        document = json_object(self._send(asker, self.calls.list, "list its workers", ""), asker.name)
        urls = _at(document, self.calls.workers_at.split("."))
        wrong = [url for url in urls if not isinstance(url, str)]
        if wrong:
            raise CampaignError(
                f"router {asker.name}: {self.calls.workers_at} of its listing holds {wrong[0]!r}, which is no address"
            )
        return [Worker(url, url.rstrip("/"), True) for url in urls]

    def remove(self, asker: Asker, worker: Worker) -> None:
        self._send(asker, self.calls.drain, f"drain {worker.url}", worker.id)

    def add(self, asker: Asker, worker_url: str) -> None:
        self._send(asker, self.calls.readmit, f"readmit {worker_url}", worker_url)

    @staticmethod
    def _send(asker: Asker, call: HttpCall, what: str, url: str) -> Any:
        path = call.path.replace("{url}", quote(url, safe=""))
        return asker.ask(call.method, path, what, _filled(call.body, url), accepted=(200, 201, 202, 204))


def _filled(body: Any, url: str) -> Any:
    if isinstance(body, dict):
        return {key: _filled(value, url) for key, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, url) for value in body]
    return body.replace("{url}", url) if isinstance(body, str) else body


def _at(value: Any, path: list[str]) -> list[Any]:
    """Values at a dotted path; ``*`` walks a list. A list at its end counts by its items."""
    if not path:
        return value if isinstance(value, list) else [value]
    if path[0] == "*":
        return [found for item in value for found in _at(item, path[1:])] if isinstance(value, list) else []
    return _at(value[path[0]], path[1:]) if isinstance(value, dict) and path[0] in value else []
