# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images in a Docker Engine: look, list, pull, commit, tag. Each call has a deadline but the pull, which has its own progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from .._api.stream import Stream
from .._host.docker import Docker
from .._words.errors import CampaignError
from .._words.text import plain

COMMIT_S = 300.0
PULL_ANSWER_S = 120.0


def inspect_image(docker: Docker, reference: str) -> dict[str, Any] | None:
    """With its manifests where the engine keeps them; None where there is none of that name or id."""
    exchange = docker.ask(
        "GET", f"/images/{quote(reference)}/json?manifests=1", f"look at image {reference}", (200, 404)
    )
    return None if exchange.status == 404 else json.loads(exchange.body)


def list_images(docker: Docker, label: str | None = None) -> list[dict[str, Any]]:
    """All images, or those with ``label`` (``name=value``)."""
    query = "?filters=" + quote(json.dumps({"label": [label]})) if label else ""
    found: list[dict[str, Any]] = json.loads(docker.ask("GET", f"/images/json{query}", "list its images", (200,)).body)
    return found


def pull(docker: Docker, reference: str, tell: Callable[[str], None]) -> None:
    """By digest. Raises :class:`CampaignError` with the registry's own reason. ``tell`` gets a line now and then."""
    repository, _at, digest = reference.partition("@")
    query = urlencode({"fromImage": repository, "tag": digest})
    stream = Stream(docker.client, "POST", f"/images/create?{query}", answer_s=PULL_ANSWER_S)
    layers: dict[str, tuple[int, int]] = {}
    for line in stream.lines():
        event = _event(line)
        if event.get("error") or (stream.status != 200 and event.get("message")):
            raise CampaignError(
                f"Docker can't pull {reference}: {plain(str(event.get('error') or event.get('message')))}"
            )
        detail = event.get("progressDetail") or {}
        if event.get("id") and detail.get("total"):
            layers[f"{event['id']} {event.get('status')}"] = (int(detail.get("current") or 0), int(detail["total"]))
            done, total = (sum(part) / 1e9 for part in zip(*layers.values(), strict=True))
            tell(f"pulling {repository}: {done:.2f} of {total:.2f} GB ({event.get('status')})")
    stream.close()
    if inspect_image(docker, reference) is None:
        raise CampaignError(f"Docker pulled {reference} and does not have it; see the engine's own log")


def commit(docker: Docker, container: str, labels: Mapping[str, str], tag: str, config: Mapping[str, Any]) -> str:
    """A container's files as a new image; returns its id. ``config`` is the base's own, so that nothing of the container stays in it."""
    repository, _colon, name = tag.rpartition(":")
    query = urlencode({"container": container, "repo": repository, "tag": name, "pause": "0"})
    body = json.dumps({**config, "Labels": {**(config.get("Labels") or {}), **labels}}).encode()
    exchange = docker.ask(
        "POST", f"/commit?{query}", f"commit container {container}", (201,), body=body, timeout_s=COMMIT_S
    )
    return str(json.loads(exchange.body)["Id"])


def _event(line: bytes) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
