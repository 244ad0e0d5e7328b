"""An engine in a container that does what a test asks of it: loads slowly, dies, hangs, ignores its stop. ``python3 scripted_engine.py options``.

Answers as llama.cpp's server does, as far as loading asks: /health, /v1/models, /props, /metrics, one completion.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="/hf/hub/weights")
    parser.add_argument("--alias", default="m")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ctx-size", type=int, default=4096)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--say", action="append", default=[], help="a line at the start")
    parser.add_argument("--listen-after", type=float, default=0.0)
    parser.add_argument("--exit-after", type=float, help="ends by itself, with --exit-code")
    parser.add_argument("--exit-code", type=int, default=1)
    parser.add_argument("--signal-on-chat", type=int, help="dies by this signal at the first request")
    parser.add_argument("--eat-on-chat", type=int, help="takes so many MiB of memory at the first request")
    parser.add_argument("--deaf", action="store_true", help="ignores SIGTERM")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.deaf else lambda *_args: sys.exit(0))
    for line in ["scripted engine", *options.say]:
        print(line, flush=True)
    if options.exit_after is not None:
        threading.Timer(options.exit_after, lambda: os._exit(options.exit_code)).start()
    time.sleep(options.listen_after)
    server = ThreadingHTTPServer((options.host, options.port), handler_of(options))
    print(f"listening at {time.time():.6f}", flush=True)
    server.serve_forever()


def handler_of(options: argparse.Namespace) -> type[BaseHTTPRequestHandler]:
    settings = {"n_ctx": options.ctx_size, "params": {"speculative.types": "none"}}
    pages: dict[str, Any] = {
        "/health": {"status": "ok"},
        "/v1/models": {"object": "list", "data": [{"id": options.alias, "object": "model"}]},
        "/props": {
            "default_generation_settings": settings,
            "total_slots": options.parallel,
            "model_path": options.model,
        },
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, b"llamacpp:spec_decode_num_drafts_total 0\n", "text/plain")
            else:
                self._answer(200 if self.path in pages else 404, json.dumps(pages.get(self.path, {})).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            if options.signal_on_chat:
                signal.raise_signal(options.signal_on_chat)
            if options.eat_on_chat:
                _eaten.append(bytearray(os.urandom(2**20) * options.eat_on_chat))
            choice = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
            body = {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": options.alias,
                "choices": [choice],
                "usage": usage,
            }
            self._answer(200, json.dumps(body).encode())

        def _answer(self, status: int, data: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    return Handler


_eaten: list[bytearray] = []

if __name__ == "__main__":
    main()
