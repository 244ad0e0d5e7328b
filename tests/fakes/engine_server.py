"""An engine as routers and health checks see one: lists its model, answers a word, counts. ``python engine_server.py PORT MODEL [options]``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def main() -> None:
    """Serves until SIGTERM. ``--start-s``: seconds until it answers; ``--reply-s``: seconds an answer takes; ``--deaf``: ignores SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("model")
    parser.add_argument("--start-s", type=float, default=0.0)
    parser.add_argument("--reply-s", type=float, default=0.0)
    parser.add_argument("--deaf", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.deaf else lambda *_args: sys.exit(0))
    time.sleep(options.start_s)
    ThreadingHTTPServer(("127.0.0.1", options.port), handler_of(options.model, options.reply_s)).serve_forever()


def handler_of(model: str, reply_s: float) -> type[BaseHTTPRequestHandler]:
    counters = {"served": 0, "running": 0}
    guard = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                text = f"llamacpp:n_decode_total {counters['served']}\nllamacpp:requests_processing {counters['running']}\n"
                self._answer(text.encode(), "text/plain")
            else:
                self._answer(
                    {"data": [{"id": model, "object": "model"}], "model_path": model, "served_model_name": model}
                )

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            with guard:
                counters["running"] += 1
            time.sleep(reply_s)
            with guard:
                counters["running"] -= 1
                counters["served"] += 1
            choice = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
            self._answer(
                {
                    "id": "c",
                    "object": "chat.completion",
                    "created": 1,
                    "model": model,
                    "choices": [choice],
                    "usage": usage,
                }
            )

        def _answer(self, content: Any, kind: str = "application/json") -> None:
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    return Handler


if __name__ == "__main__":
    main()
