# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader's own means: programs, /proc, sockets and one GET. Shares nothing with the code that changes the host."""

from __future__ import annotations

import http.client
import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PROGRAM_S = 20.0
ANSWER_LIMIT = 2**22


def output_of(arguments: list[str]) -> str | None:
    """Standard output of a program that ended with 0; None otherwise."""
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PROGRAM_S, check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def processes() -> dict[int, list[str]]:
    """Process id -> its arguments."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            data = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if data:
            found[int(folder.name)] = data.decode("utf-8", "replace").rstrip("\0").split("\0")
    return found


def ports_of(pid: int) -> set[int]:
    """Ports that one process listens on, by ``ss``-like means: its descriptors against the socket table."""
    held = set()
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            held.add(str(descriptor.readlink()))
        except OSError:
            continue
    return {port for port, inode in listening() if f"socket:[{inode}]" in held}


def listening() -> list[tuple[int, str]]:
    """(port, inode) of every listening TCP socket."""
    ports = []
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        rows = (line.split() for line in lines)
        ports += [(int(row[1].rsplit(":", 1)[1], 16), row[9]) for row in rows if row[3] == "0A"]
    return ports


def get(url: str, key_file: str | None = None) -> tuple[int | None, bytes]:
    """(status, body); no status where nobody answers."""
    parts = urlsplit(url)
    headers = {}
    try:
        if key_file:
            headers["Authorization"] = f"Bearer {Path(key_file).read_text(encoding='utf-8').strip()}"
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=5.0)
    except OSError:
        return None, b""
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read(ANSWER_LIMIT)
    except (OSError, http.client.HTTPException):
        return None, b""
    finally:
        connection.close()


def get_json(url: str, key_file: str | None = None) -> tuple[int | None, Any]:
    """(status, document); no document where the answer is not 200 or no JSON."""
    status, body = get(url, key_file)
    try:
        return status, json.loads(body) if status == 200 else None
    except ValueError:
        return status, None
