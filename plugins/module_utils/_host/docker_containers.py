# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers of our own in a Docker Engine: create, look inside, follow, remove. Each call has a deadline; nothing here is done to others' containers."""

from __future__ import annotations

import io
import json
import re
import tarfile
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from .._api.stream import Stream
from .._words.errors import CampaignError
from .container import plain_log
from .docker import CALL_S, POLL_S, STALL_S, Docker

CREATE_S = 60.0
REMOVE_S = 20.0
#: How long a container may still be listed after a forced removal; the daemon itself waits 12 s (moby: killWithSignal, then kill).
ABSENT_S = 30.0
EXEC_S = 30.0
#: SIGKILL and SIGTERM: who sent them is a question.
KILLED = (137, 143)
KILL_TOLD_S = 0.5
ARCHIVE_LIMIT = 64 * 2**20


def create(docker: Docker, body: Mapping[str, Any], name: str | None = None) -> str:
    """The new container's id. Never pulls: an image that isn't there is an error of the engine's own words."""
    path = "/containers/create" + (f"?name={quote(name)}" if name else "")
    what = f"create container {name or 'of ' + str(body.get('Image'))}"
    exchange = docker.ask("POST", path, what, (201,), body=json.dumps(body).encode(), timeout_s=CREATE_S)
    return str(json.loads(exchange.body)["Id"])


def labelled(docker: Docker, label: str) -> list[dict[str, Any]]:
    """Containers with the label (``name`` or ``name=value``), running or not, as the engine lists them."""
    filters = quote(json.dumps({"label": [label]}))
    exchange = docker.ask(
        "GET", f"/containers/json?all=1&filters={filters}", f"list containers labelled {label}", (200,)
    )
    found: list[dict[str, Any]] = json.loads(exchange.body)
    return found


def remove(docker: Docker, name: str) -> None:
    """Forced, with its anonymous volumes, until it is absent. Raises :class:`CampaignError` where it stays.

    409 is a removal under way, a 5xx or a hung call often one that ends later: only the container's absence counts.
    """
    deadline = time.monotonic() + ABSENT_S
    last = "no answer"
    while True:
        exchange = docker.client.exchange(
            "DELETE", f"/containers/{quote(name)}?force=1&v=1", None, timeout_s=min(REMOVE_S, ABSENT_S)
        )
        if exchange.status in (204, 404) and docker.inspect(name) is None:
            return
        last = exchange.body[:300].decode("utf-8", "replace").strip() if exchange.answered else str(exchange.fault_text)
        if time.monotonic() > deadline:
            raise CampaignError(
                f"container {name} is still there {ABSENT_S:g} s after its forced removal: {last}", container=name
            )
        time.sleep(POLL_S)


def stop_and_kill(docker: Docker, name: str, stop_s: float) -> str:
    """Bounded stop, then kill. Returns how it went; what neither call ends is left to the forced removal."""
    try:
        return docker.stop(name, stop_s)
    except CampaignError as exc:
        return f"not stopped: {exc}"


def follow_log(docker: Docker, name: str) -> Stream:
    """The log from its beginning on, framed as :func:`..container.plain_log` reads it."""
    return Stream(docker.client, "GET", f"/containers/{quote(name)}/logs?stdout=1&stderr=1&follow=1")


def follow_events(docker: Docker, name: str) -> Stream:
    """The engine's events about one container, a JSON line each, from now on."""
    filters = quote(json.dumps({"container": [name], "type": ["container"]}))
    return Stream(docker.client, "GET", f"/events?filters={filters}")


def kills_of(docker: Docker, name: str, state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The ``kill`` and ``oom`` events of a container's last run, where it ended by a signal that others send; empty otherwise.

    Asked for up to its own end and a moment more, as Docker tells of a kill after it has killed: a time that lies further ahead would be
    waited for, and the engine's clock may be another machine's.
    """
    began, ended = (_unix(str(state.get(key) or "")) for key in ("StartedAt", "FinishedAt"))
    if state.get("ExitCode") not in KILLED or began is None or ended is None:
        return []
    filters = json.dumps({"container": [name], "event": ["kill", "oom"]})
    query = urlencode({"since": f"{began:.6f}", "until": f"{ended + KILL_TOLD_S:.6f}", "filters": filters})
    exchange = docker.client.get(f"/events?{query}", timeout_s=CALL_S)
    return [json.loads(line) for line in exchange.body.splitlines() if line.strip()] if exchange.status == 200 else []


def _unix(text: str) -> float | None:
    """Docker's time with nanoseconds, in UTC; None for the year 1, which means never."""
    found = re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,6})?\d*Z$", text)
    if found is None or text.startswith("0001"):
        return None
    return datetime.fromisoformat(f"{found[1]}+00:00").timestamp() + float(found[2] or 0)


def run_inside(docker: Docker, name: str, command: list[str], limit_s: float = EXEC_S) -> tuple[int | None, str]:
    """(exit status, output) of a command inside a running container; status None where it can't be run there."""
    body = json.dumps({"Cmd": command, "AttachStdout": True, "AttachStderr": True}).encode()
    made = docker.client.post(f"/containers/{quote(name)}/exec", body, timeout_s=CALL_S)
    if made.status != 201:
        return None, made.body[:300].decode("utf-8", "replace")
    identifier = json.loads(made.body)["Id"]
    answer = docker.client.post(f"/exec/{identifier}/start", b'{"Detach": false, "Tty": false}', timeout_s=limit_s)
    if answer.status != 200:
        return None, answer.body[:300].decode("utf-8", "replace")
    state = json.loads(docker.ask("GET", f"/exec/{identifier}/json", f"look at a command in {name}", (200,)).body)
    return state.get("ExitCode"), plain_log(answer.body)


def read_file(docker: Docker, name: str, path: str) -> bytes | None:
    """One file out of a container, running or not; None where there is none."""
    exchange = docker.ask(
        "GET",
        f"/containers/{quote(name)}/archive?path={quote(path)}",
        f"read {path} of {name}",
        (200, 404),
        timeout_s=60.0,
    )
    if exchange.status == 404:
        return None
    if len(exchange.body) > ARCHIVE_LIMIT:
        raise CampaignError(f"{path} in {name} is larger than {ARCHIVE_LIMIT} bytes")
    with tarfile.open(fileobj=io.BytesIO(exchange.body)) as archive:
        entry = archive.next()
        stream = archive.extractfile(entry) if entry is not None and entry.isfile() else None
        return stream.read() if stream else None


def exists(docker: Docker, name: str, path: str) -> bool:
    """Whether a path is there in a container."""
    return (
        docker.client.exchange(
            "HEAD", f"/containers/{quote(name)}/archive?path={quote(path)}", None, timeout_s=CALL_S
        ).status
        == 200
    )


def put_archive(docker: Docker, name: str, data: bytes) -> None:
    """Unpacks a tar archive at the container's root; works on a host whose folders the engine can't see."""
    exchange = docker.client.exchange("PUT", f"/containers/{quote(name)}/archive?path=/", data, timeout_s=120.0)
    if exchange.status != 200:
        raise CampaignError(
            f"Docker refuses to put files into {name}: {exchange.body[:300].decode('utf-8', 'replace') or exchange.fault_text}"
        )


def wait_ended(docker: Docker, name: str, limit_s: float) -> int | None:
    """The exit status, or None after ``limit_s``."""
    exchange = docker.client.post(f"/containers/{quote(name)}/wait", b"", timeout_s=limit_s + STALL_S)
    return int(json.loads(exchange.body)["StatusCode"]) if exchange.status == 200 else None
