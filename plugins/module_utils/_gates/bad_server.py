# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that answers everything badly, on loopback, for as long as the gates are shown that they can fail."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: How an answer is bad -> what is said: a loop, nothing at all, reasoning in the visible text. ``fault`` is no answer, ``short`` counts fewer tokens than came,
#: ``crowded`` answers the first request only.
SAID = {
    "loop": "lock handle " * 60,
    "silent": "",
    "leak": "I think about what the user wants.</think>\n\nParis",
    "short": "lock handle " * 60,
    "crowded": "lock handle " * 60,
}
WAYS = (*SAID, "fault")
FAULT = {"error": {"message": "a fault of the server, made on purpose", "type": "InternalServerError", "code": 500}}
SHORT_OF = 0.9


@contextmanager
def bad_server(way: str) -> Iterator[str]:
    """The base URL of one that is bad in this way. Its port is free again afterwards."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(way))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def handler_of(way: str) -> type[BaseHTTPRequestHandler]:
    asked = itertools.count()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(404, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
            words = len(json.dumps(body.get("messages") or body.get("input")).split())
            if self.path == "/tokenize":
                self._send(200, {"count": words})
            elif way == "fault" or (way == "crowded" and next(asked)):
                self._send(500, FAULT)
            elif self.path == "/v1/responses":
                self._send(200, response_of(SAID[way], usage_of(way, words)))
            elif body.get("stream"):
                self._send(200, stream_of(SAID[way], usage_of(way, words)), "text/event-stream")
            else:
                self._send(200, {**chunk_of("message", SAID[way], "stop"), "usage": usage_of(way, words)})

        def _send(self, status: int, answer: Any, kind: str = "application/json") -> None:
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    return Handler


def usage_of(way: str, words: int) -> dict[str, int]:
    prompt = int(words * SHORT_OF) if way == "short" else words
    return {"prompt_tokens": prompt, "completion_tokens": 120, "total_tokens": prompt + 120}


def response_of(text: str, usage: dict[str, int]) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    tokens = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}
    return {"status": "completed", "output": [message] if text else [], "usage": tokens}


def chunk_of(kind: str, text: str, finish: str | None) -> dict[str, Any]:
    return {"choices": [{"index": 0, kind: {"role": "assistant", "content": text}, "finish_reason": finish}]}


def stream_of(text: str, usage: dict[str, int]) -> bytes:
    """All at once, and without the mark of its end."""
    pieces = text.split(" ")
    events: list[dict[str, Any]] = [chunk_of("delta", f"{piece} ", None) for piece in pieces if piece]
    events += [chunk_of("delta", "", "stop"), {"choices": [], "usage": usage}]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
