"""A proxy before a Docker Engine's socket that swallows some requests: they are taken, and no answer ever comes."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def stalling_proxy(path: Path, behind: str, swallow: str, *, forward: bool = False) -> Iterator[list[str]]:
    """Serves at ``path``; requests whose first line matches ``swallow`` get no answer. ``forward``: the engine hears them nevertheless.

    Yields the first lines that were swallowed.
    """
    swallowed: list[str] = []
    open_sockets: list[socket.socket] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)

    def serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            head = client.recv(65536)
            line = head.split(b"\r\n", 1)[0].decode()
            stalled = re.search(swallow, line) is not None
            if stalled:
                swallowed.append(line)
                if not forward:
                    return
            engine = _reach(behind)
            open_sockets.append(engine)
            engine.sendall(head)
            threading.Thread(target=_pump, args=(client, engine), daemon=True).start()
            if stalled:
                while engine.recv(65536):
                    pass
                return
            _pump(engine, client)
            client.close()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _address = listener.accept()
                open_sockets.append(client)
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield swallowed
    finally:
        listener.close()
        for item in open_sockets:
            item.close()
        path.unlink()


def _reach(address: str) -> socket.socket:
    """An engine under load may not take a connection at once; its client would hear of a broken one instead of waiting."""
    for wait_s in (0.1, 0.3, 1.0, 0.0):
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.connect(address)
        except OSError:
            engine.close()
            time.sleep(wait_s)
        else:
            return engine
    raise ConnectionRefusedError(address)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
