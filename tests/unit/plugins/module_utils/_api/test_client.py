"""One exchange: faults are answers, times are kept, bounds hold."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._api import client as module
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Client


@contextmanager
def server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server for one connection that says exactly what the test wants."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            connection, _address = listener.accept()
            with connection:
                talk(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(5)


def request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    return data


def test_a_whole_answer_with_times() -> None:
    def talk(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    with server(talk) as url:
        answer = Client(url).get("/x")
    assert (answer.status, answer.body, answer.fault) == (200, b"hello", None)
    assert 0 < answer.pieces[0][0] <= answer.end_ns


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"", "transport"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "cut"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "cut"),
        (b"nonsense\r\n\r\n", "transport"),
    ],
)
def test_a_broken_answer_has_its_class(answer: bytes, fault: str) -> None:
    def talk(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(answer)

    with server(talk) as url:
        assert Client(url).get("/x").fault == fault


def test_nobody_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        answer = Client(f"http://127.0.0.1:{unused.getsockname()[1]}").get("/x")
    assert (answer.status, answer.fault) == (None, "transport")


def test_a_time_limit_in_the_middle_of_a_body() -> None:
    def talk(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")
        threading.Event().wait(2)

    with server(talk) as url:
        answer = Client(url).get("/x", timeout_s=0.3)
    assert (answer.status, answer.fault, answer.body) == (200, "timeout", b"hello")


def test_a_body_without_bounds_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BODY_LIMIT", 100_000)

    def talk(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        try:
            connection.sendall(b"x" * 1_000_000)
        except OSError:
            return

    with server(talk) as url:
        answer = Client(url).get("/x")
    assert answer.fault == "cut"
    assert len(answer.body) < 300_000


def test_the_key_comes_from_its_file_and_is_not_kept(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("s3cret\n")
    seen = []

    def talk(connection: socket.socket) -> None:
        seen.append(request(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with server(talk) as url:
        client = Client(url, key_file=str(key))
        client.get("/x")
    assert b"Authorization: Bearer s3cret\r\n" in seen[0]
    assert "s3cret" not in repr(client)
