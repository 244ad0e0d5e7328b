# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only socket to engines, routers and the Docker Engine: one HTTP exchange, its body kept as timestamped pieces. Bounded in size and time."""

from __future__ import annotations

import http.client
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from .._words.errors import InputError
from .._words.events import ErrorClass

READ_SIZE = 65536
BODY_LIMIT = 64 * 2**20


@dataclass(frozen=True)
class Exchange:
    """One request and what came back. ``pieces`` are (nanoseconds since the request was sent, bytes) in order of reading."""

    status: int | None
    content_type: str
    pieces: tuple[tuple[int, bytes], ...]
    end_ns: int
    fault: ErrorClass | None = None
    fault_text: str | None = None

    @property
    def body(self) -> bytes:
        return b"".join(piece for _at, piece in self.pieces)

    @property
    def answered(self) -> bool:
        """A whole answer came, whatever its status."""
        return self.fault is None and self.status is not None


@dataclass(frozen=True)
class Client:
    """Requests to one origin, a new connection each. ``key_file`` is read at each request; the key is never kept or shown."""

    base_url: str
    key_file: str | None = None
    connect_s: float = 5.0
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, *, timeout_s: float = 10.0) -> Exchange:
        return self.exchange("GET", path, None, timeout_s=timeout_s)

    def post(self, path: str, body: bytes, *, timeout_s: float = 60.0) -> Exchange:
        return self.exchange("POST", path, body, timeout_s=timeout_s)

    def delete(self, path: str, *, timeout_s: float = 10.0) -> Exchange:
        return self.exchange("DELETE", path, None, timeout_s=timeout_s)

    def exchange(self, method: str, path: str, body: bytes | None, *, timeout_s: float) -> Exchange:
        """Sends and reads to the end. Never raises for what the other side does: a fault is part of the answer.

        The clock starts with the first byte, when the connection stands and the request is put together; nothing but reading and the clock is in the loop.
        """
        parts = urlsplit(self.base_url)
        connection = connection_to(parts, min(self.connect_s, timeout_s))
        prefix = "" if parts.scheme == "unix" else parts.path.rstrip("/")
        pieces: list[tuple[int, bytes]] = []
        status: int | None = None
        content_type = ""
        start = time.monotonic_ns()
        try:
            connection.connect()
            if connection.sock.family != socket.AF_UNIX:
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            headers = self._headers(body)
            deadline = time.monotonic() + timeout_s
            connection.sock.settimeout(timeout_s)
            connection.request(method, prefix + path, body=body, headers=headers)
            start = connection.sent_ns
            response = connection.getresponse()
            status, content_type = response.status, response.headers.get("content-type", "")
            size = 0
            while piece := response.read1(READ_SIZE):
                pieces.append((time.monotonic_ns() - start, piece))
                size += len(piece)
                if size > BODY_LIMIT:
                    raise _TooMuch(f"more than {BODY_LIMIT} bytes")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("the time limit ended in the middle of the body")
                # http.client drops its socket once a body without length has begun its last read
                if connection.sock is not None:
                    connection.sock.settimeout(left)
            if response.length:
                # read1 ends quietly where the other side hung up before the length it had promised
                raise http.client.IncompleteRead(b"", response.length)
        except TimeoutError as exc:
            return _faulty(status, content_type, pieces, start, "timeout", f"no end within {timeout_s:g} s ({exc})")
        except (http.client.IncompleteRead, _TooMuch) as exc:
            return _faulty(status, content_type, pieces, start, "cut", f"the body ended early: {exc}")
        except (OSError, http.client.HTTPException) as exc:
            fault: ErrorClass = "cut" if pieces else "transport"
            return _faulty(status, content_type, pieces, start, fault, f"{type(exc).__name__}: {exc}")
        finally:
            connection.close()
        return Exchange(status, content_type, tuple(pieces), time.monotonic_ns() - start)

    def _headers(self, body: bytes | None) -> dict[str, str]:
        headers = {"Accept": "*/*", "Connection": "close", **self.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.key_file:
            headers["Authorization"] = f"Bearer {Path(self.key_file).read_text(encoding='utf-8').strip()}"
        return headers


class _TooMuch(Exception):
    pass


class Connection(http.client.HTTPConnection):
    """Knows when the first byte of its request was handed to the socket: what is put together before is not the other side's time."""

    sent_ns = 0

    def send(self, data: Any) -> None:
        self.sent_ns = self.sent_ns or time.monotonic_ns()
        super().send(data)


class _UnixConnection(Connection):
    """HTTP over a socket in the file system, as the Docker Engine speaks it."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection_to(parts: SplitResult, timeout_s: float) -> Connection:
    """A connection that is not open yet. Raises :class:`InputError` for an address of another kind."""
    if parts.scheme == "unix" and parts.path:
        return _UnixConnection(parts.path, timeout_s)
    if parts.scheme == "http" and parts.hostname:
        return Connection(parts.hostname, parts.port or 80, timeout=timeout_s)
    raise InputError(f"{parts.geturl()!r} is no address of the form http://host:port or unix:///path")


def _faulty(
    status: int | None, content_type: str, pieces: list[tuple[int, bytes]], start: int, fault: ErrorClass, text: str
) -> Exchange:
    return Exchange(status, content_type, tuple(pieces), time.monotonic_ns() - start, fault, text)
