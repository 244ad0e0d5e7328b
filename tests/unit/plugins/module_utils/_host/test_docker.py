"""One broken connection to the Docker Engine is no answer about a container."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.docker import Docker
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError

LISTING = b'[{"Id": "c1"}]'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(LISTING), LISTING)


@contextlib.contextmanager
def engine(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """An engine's socket that gives each connection the next answer and hangs up; an empty one is a hang-up without a word.

    Yields the path and the first lines of the requests; those beyond the answers are heard, too.
    """
    heard: list[bytes] = []
    left = list(answers)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(Path(folder) / "engine.sock")
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _address = listener.accept()
                    with client:
                        heard.append(client.recv(65536).split(b"\r\n")[0])
                        client.sendall(left.pop(0) if left else b"")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path, heard
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize("broken", [b"", ANSWER[:-3]], ids=["hung up", "cut"])
def test_a_look_is_made_once_more_after_a_broken_connection(broken: bytes) -> None:
    with engine(broken, ANSWER) as (path, heard):
        assert Docker(path).running_ids() == ["c1"]
    assert heard == [b"GET /containers/json HTTP/1.1"] * 2


def test_twice_is_a_fault_that_names_socket_and_look() -> None:
    with (
        engine() as (path, heard),
        pytest.raises(CampaignError, match=r"engine\.sock can't list the running containers"),
    ):
        Docker(path).running_ids()
    assert len(heard) == 2


def test_what_changes_something_is_never_repeated() -> None:
    with engine() as (path, heard), pytest.raises(CampaignError, match="start container omni"):
        Docker(path).start("omni")
    assert heard == [b"POST /containers/omni/start HTTP/1.1"]
