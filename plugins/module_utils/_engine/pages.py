# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine's own pages: JSON documents and Prometheus samples. What isn't there is empty or None, never a guess."""

from __future__ import annotations

import json
import re
from typing import Any

from .._api.client import Client
from .._api.sse import objects


def metric(client: Client, name: str) -> float | None:
    """One sample of a Prometheus text page, summed over its labels; None where it isn't there."""
    exchange = client.get("/metrics")
    if exchange.status != 200:
        return None
    found = re.findall(
        rf"^{re.escape(name)}(?:\{{[^}}]*\}})? ([0-9.eE+-]+)$", exchange.body.decode("utf-8", "replace"), re.M
    )
    return sum(map(float, found)) if found else None


def metric_names(client: Client) -> frozenset[str]:
    """Every name that the metrics page has a sample of; none where there is no page."""
    exchange = client.get("/metrics")
    text = exchange.body.decode("utf-8", "replace") if exchange.status == 200 else ""
    return frozenset(re.findall(r"^([A-Za-z_:][\w:]*)", text, re.M))


def get_document(client: Client, path: str) -> dict[str, Any]:
    """A JSON object, or an empty one where the engine has no such page."""
    exchange = client.get(path)
    return as_object(exchange.body) if exchange.status == 200 else {}


def post_document(client: Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The same for POST."""
    exchange = client.post(path, json.dumps(body).encode(), timeout_s=60.0)
    return as_object(exchange.body) if exchange.status == 200 else {}


def as_object(body: bytes) -> dict[str, Any]:
    """A body's JSON object, or an empty one."""
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def objects_of(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a document's list."""
    return objects(document.get(name))
