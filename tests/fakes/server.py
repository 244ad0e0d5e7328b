"""A scripted HTTP server for unit tests: what it answers is a function of method, path and body; every request is kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: (status, document or raw bytes). Bytes are sent as an event stream.
Answer = tuple[int, Any]
Script = Callable[[str, str, Any], Answer]


@dataclass
class Scripted:
    """A running server."""

    url: str
    requests: list[tuple[str, str, Any]] = field(default_factory=list)


@contextmanager
def scripted(script: Script) -> Iterator[Scripted]:
    """Serves on a free loopback port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            server.requests.append((self.command, self.path, body))
            status, answer = script(self.command, self.path, body)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if isinstance(answer, bytes) else "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Scripted(f"http://127.0.0.1:{listener.server_port}")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()


def completion(
    text: str = "", *, stream: bool, finish: str = "stop", usage: tuple[int, int] = (10, 5), **message: Any
) -> Any:
    """A chat completion, whole or as a stream of one-word pieces."""
    counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "prompt_tokens_details": {"cached_tokens": 0}}
    if not stream:
        return {
            "model": "m",
            "choices": [{"message": {"content": text, **message}, "finish_reason": finish}],
            "usage": counted,
        }
    deltas: list[dict[str, Any]] = [{"role": "assistant"}, *({"content": piece} for piece in text.split(" ") if piece)]
    if text:
        deltas = [
            deltas[0],
            *({"content": (" " if number else "") + piece} for number, piece in enumerate(text.split(" "))),
        ]
    if message:
        deltas.append(message)
    events: list[dict[str, Any]] = [{"model": "m", "choices": [{"delta": delta}]} for delta in deltas]
    events.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    events.append({"choices": [], "usage": counted})
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
