# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer that goes on: events, a log that is followed, the progress of a pull. Read in one thread, closed from any."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from .._words.errors import CampaignError
from .client import READ_SIZE, Client, connection_to


class Stream:
    """One open answer. ``status`` is its HTTP status."""

    def __init__(
        self, client: Client, method: str, path: str, body: bytes | None = None, *, answer_s: float = 10.0
    ) -> None:
        """Sends and waits for the answer's head at most ``answer_s``; after it there is no limit. Raises :class:`CampaignError`."""
        self._connection = connection_to(urlsplit(client.base_url), client.connect_s)
        try:
            self._connection.connect()
            self._socket = self._connection.sock
            self._socket.settimeout(answer_s)
            self._connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
            self._response = self._connection.getresponse()
            self._socket.settimeout(None)
        except (OSError, http.client.HTTPException) as exc:
            self._connection.close()
            raise CampaignError(f"{client.base_url} does not answer {method} {path.split('?')[0]}: {exc}") from exc
        self.status = self._response.status

    def pieces(self) -> Iterator[bytes]:
        """As they come; ends with the answer, with the connection, or with :meth:`close`."""
        try:
            while piece := self._response.read1(READ_SIZE):
                yield piece
        except (OSError, http.client.HTTPException, ValueError):
            return
        finally:
            self._connection.close()

    def lines(self) -> Iterator[bytes]:
        """Whole lines, without their ends."""
        rest = b""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line for line in whole if line.strip())

    def close(self) -> None:
        """Ends a read that waits in another thread; that thread closes the connection, as it is in the middle of it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
