# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the keeper is spoken to: one JSON line there, one back. A file of its own, so that who only asks doesn't carry the keeper."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from .._words.documents import canonical_json, sha256_of
from .._words.errors import CampaignError

REQUEST_LIMIT = 4 * 2**20


def socket_name(state_dir: Path) -> str:
    """An abstract address, as a state folder's path may be longer than a socket's may be. Peers are checked by user id."""
    return "\0tandem-campaign-" + sha256_of(str(state_dir.resolve()))[:24]


def ask_keeper(state_dir: Path, request: dict[str, Any], *, timeout_s: float = 10.0) -> dict[str, Any]:
    """One question to the keeper. Raises :class:`CampaignError` where none answers or it says no."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(socket_name(state_dir))
            connection.sendall(canonical_json(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(read_line(connection))
    except (OSError, ValueError) as exc:
        raise CampaignError(
            f"the keeper of {state_dir} doesn't answer ({exc}). It ends when the host is given back, after campaign_lease_s of silence too; "
            f"see {state_dir}/keeper.log"
        ) from exc
    if "error" in answer:
        raise CampaignError(answer["error"])
    return answer


def read_line(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece or len(data) > REQUEST_LIMIT:
            raise ValueError("a request without end")
        data += piece
    return data
