"""The played engine's server: receives, waits as long as the behaviour says, and writes each piece at its moment."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .arrival import arrival_ns, stamp_arrivals
from .asked import Asked, count, read_request
from .behaviour import Behaviour, read_behaviour
from .faults import Faults, Timed, disturbed, spoilt
from .model import Utterance, utter
from .pages import Started, pages, started, startup_lines
from .wire import event_of, pieces_of, whole_chat, whole_responses

BLOCK_TOKENS = 16
KEPT_PROMPTS = 8


class Engine:
    """One played engine: its counters, the prompts that its cache still holds, and what it says to a request."""

    def __init__(self, behaviour: Behaviour, start: Started, record: Path | None = None) -> None:
        self.behaviour = behaviour
        self.start = start
        self.record = record
        self.faults = Faults(behaviour.fault)
        self.counters = {"cached": 0, "served": 0, "waiting": 0}
        self.prompts: list[str] = []
        self.guard = threading.Lock()
        # One admission: requests of several clients stand in line, as they do at a real engine's --max-num-seqs 1.
        self.admission = threading.BoundedSemaphore(int(start.admission))

    @contextmanager
    def admitted(self, received_ns: int) -> Iterator[int]:
        """When the work on a request begins: at once, or when its turn comes in the line, as the engine counts it."""
        begun_ns = received_ns
        if not self.admission.acquire(blocking=False):
            with self.guard:
                self.counters["waiting"] += 1
            self.admission.acquire()
            begun_ns = time.monotonic_ns()
            with self.guard:
                self.counters["waiting"] -= 1
        try:
            yield begun_ns
        finally:
            self.admission.release()

    def answer(self, asked: Asked) -> tuple[Utterance, list[Any]]:
        """What is said, and the faults that this request meets."""
        with self.guard:
            met = self.faults.of(asked)
            said = utter(asked, self.behaviour)
            cached = self._cached(asked.text) if self.behaviour.prefix_caching else 0
            said = spoilt(Utterance(**{**vars(said), "cached_tokens": cached}), asked, met)
            self.counters["cached"] += said.cached_tokens
            self.counters["served"] += 1
        return said, met

    def _cached(self, text: str) -> int:
        longest = max((_common(text, known) for known in self.prompts), default=0)
        self.prompts = [*self.prompts[1 - KEPT_PROMPTS :], text]
        return len(text[:longest].split()) // BLOCK_TOKENS * BLOCK_TOKENS

    def note(self, line: dict[str, Any]) -> None:
        if self.record:
            with self.guard, self.record.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")


def _common(one: str, other: str) -> int:
    """Length of the common beginning, by halves: texts of a megabyte are compared in no time."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def handler_of(engine: Engine) -> type[BaseHTTPRequestHandler]:
    behaviour, scale = engine.behaviour, engine.behaviour.time_scale

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        received_ns = begun_ns = 0

        def handle_one_request(self) -> None:
            try:
                self.received_ns = arrival_ns(self.connection)
            except OSError:
                self.close_connection = True
                return
            super().handle_one_request()

        def do_GET(self) -> None:
            found = pages(engine.start, behaviour, engine.counters).get(self.path)
            if isinstance(found, bytes):
                self._send(200, found, "text/plain")
            else:
                self._send(200 if found is not None else 404, found or {})

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                body = json.loads(data)
            except ValueError:
                self._send(400, _problem("the body is no JSON", 400))
                return
            if self.path in ("/tokenize", "/apply-template"):
                self._tokenize(body)
                self._note([], None)
            elif self.path in ("/v1/chat/completions", "/v1/responses"):
                with engine.admitted(self.received_ns) as self.begun_ns:
                    self._complete(read_request(self.path, body))
            else:
                self._send(404, _problem(f"nothing is served at {self.path}", 404))

        def _tokenize(self, body: dict[str, Any]) -> None:
            flavour = behaviour.flavour
            if flavour == "openai" or (self.path == "/apply-template") != (
                flavour == "llama_cpp" and "messages" in body
            ):
                self._send(404, _problem(f"nothing is served at {self.path}", 404))
            elif self.path == "/apply-template":
                self._send(200, {"prompt": " ".join(["word"] * count(body["messages"]))})
            elif flavour == "llama_cpp":
                self._send(200, {"tokens": [1] * len(body["content"].split())})
            else:
                self._send(
                    200, {"count": count(body["messages"]), "max_model_len": int(engine.start.context), "tokens": []}
                )

        def _complete(self, asked: Asked) -> None:
            limit = int(engine.start.context)
            if asked.prompt_tokens + asked.max_tokens > limit:
                words = f"This model's maximum context length is {limit} tokens. However, you requested {asked.max_tokens} output tokens"
                self._send(400, _problem(f"{words} and your prompt contains {asked.prompt_tokens} input tokens", 400))
                return
            said, met = engine.answer(asked)
            for fault in met:
                if fault.kind == "hang":
                    time.sleep(fault.values.get("seconds", 3600))
                elif fault.kind == "status":
                    self._send(
                        fault.values.get("status", 500),
                        _problem(fault.values.get("text", "Internal server error"), fault.values.get("status", 500)),
                    )
                    return
            pieces = disturbed(pieces_of(said, behaviour), met)
            if asked.streamed:
                self._stream(pieces, said)
                return
            self._until(pieces[-1].at_s)
            model = engine.start.name
            self._send(
                200,
                whole_chat(said, behaviour, model)
                if self.path.endswith("completions")
                else whole_responses(said, model),
            )
            self._note([], said)

        def _stream(self, pieces: list[Timed], said: Utterance) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            written: list[tuple[int, str]] = []
            # Made before the first is due, so that the moments are those of the writing alone.
            pieces = [piece for piece in pieces if piece.kind != "usage" or behaviour.usage != "none"]
            events = [
                b"" if piece.kind in ("cut", "hang") else event_of(piece, said, behaviour, engine.start.name)
                for piece in pieces
            ]
            for piece, event in zip(pieces, events, strict=True):
                self._until(piece.at_s)
                if piece.kind in ("cut", "hang"):
                    time.sleep(3600 if piece.kind == "hang" else 0)
                    self.close_connection = True
                    return
                written.append((time.monotonic_ns(), _kind(piece)))
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.write(b"0\r\n\r\n")
            self._note(written, said)

        def _note(self, written: list[tuple[int, str]], said: Utterance | None) -> None:
            if engine.record:
                times = _times(self.received_ns, written, said, time.monotonic_ns())
                engine.note({"path": self.path, "streamed": bool(written), **times})

        def _until(self, at_s: float) -> None:
            wait = self.begun_ns + at_s * scale * 1e9 - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / 1e9)

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


def _kind(piece: Timed) -> str:
    for name in ("content", "tool_calls", "reasoning", "reasoning_content"):
        if piece.delta.get(name):
            return "visible" if name == "content" else "output"
    return piece.kind


def _times(received_ns: int, written: list[tuple[int, str]], said: Utterance | None, end_ns: int) -> dict[str, Any]:
    """The truth that a client's figures can be held against: nanoseconds since the request's first byte came."""
    outputs = [at for at, kind in written if kind in ("visible", "output")]
    visible = [at for at, kind in written if kind == "visible"]
    return {
        "first_output_ns": outputs[0] - received_ns if outputs else None,
        "first_visible_ns": visible[0] - received_ns if visible else None,
        "last_output_ns": outputs[-1] - received_ns if outputs else None,
        "end_ns": end_ns - received_ns,
        "completion_tokens": said.counted if said else None,
    }


def _problem(text: str, status: int) -> dict[str, Any]:
    return {
        "error": {
            "message": text,
            "type": "BadRequestError" if status < 500 else "InternalServerError",
            "param": None,
            "code": status,
        }
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is nothing to tell of."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve(engine: Engine, host: str, port: int) -> ThreadingHTTPServer:
    """A server that listens; the caller runs it."""
    server = _Server((host, port), handler_of(engine))
    stamp_arrivals(server.socket)
    return server


def main(arguments: list[str]) -> None:
    """``--behaviour FILE [--time-scale X] [--record FILE]``, then an engine's own arguments. Serves until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--behaviour", type=Path, required=True)
    parser.add_argument("--time-scale", type=float)
    parser.add_argument("--record", type=Path, help="one JSON line a stream: when each part of it was really written")
    options, rest = parser.parse_known_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_args: os._exit(0))
    start = started(rest)
    behaviour = read_behaviour(options.behaviour, options.time_scale)
    server = serve(Engine(behaviour, start, options.record), start.host, int(start.port))
    for line in startup_lines(start, behaviour):
        print(line, flush=True)
    print(f"listening on http://{start.host}:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.05)
