"""The program that starts the demo host's services, against services that die, come late or find their port taken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.tests.fakes.bench import free_port

PROGRAM = Path(__file__).resolve().parents[2] / "tools" / "demo_start.py"
#: Notes its process id, ends with 3 as often as it is told, then answers every GET with 200.
SERVICE = """
import http.server, os, pathlib, sys

port, failures = int(sys.argv[1]), int(sys.argv[2])
starts = pathlib.Path("starts")
with starts.open("a") as stream:
    stream.write(f"{os.getpid()}\\n")
if len(starts.read_text().splitlines()) <= failures:
    print("the port is taken", flush=True)
    sys.exit(3)

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""


class Owner:
    """Somebody with one service in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        (folder / "service.py").write_text(SERVICE, encoding="utf-8")

    def spec(self, failures: int = 0, folder: Path | None = None) -> dict[str, Any]:
        return {
            "argv": [sys.executable, str(self.folder / "service.py"), str(self.port), str(failures)],
            "cwd": str(folder or self.folder),
            "log": str(self.folder / "service.log"),
            "health": {"url": f"http://127.0.0.1:{self.port}/"},
        }

    def starts(self) -> list[int]:
        try:
            return [int(line) for line in (self.folder / "starts").read_text(encoding="utf-8").split()]
        except FileNotFoundError:
            return []


def start(spec: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM)],
        input=json.dumps({"omni": spec}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    owner = Owner(tmp_path)
    yield owner
    for pid in owner.starts():
        # Those that ended are gone and may have lent their number to another: only one that works in our folder is ours.
        if Path(f"/proc/{pid}/cwd").exists() and Path(f"/proc/{pid}/cwd").resolve() == tmp_path:
            os.kill(pid, signal.SIGTERM)


def test_started_once(owner: Owner) -> None:
    done = start(owner.spec())
    assert (done.returncode, done.stdout) == (0, "started omni\n"), done.stderr
    again = start(owner.spec())
    assert (again.returncode, again.stdout) == (0, ""), again.stderr
    assert len(owner.starts()) == 1


def test_one_that_dies_is_started_again(owner: Owner) -> None:
    done = start(owner.spec(failures=2))
    assert (done.returncode, done.stdout) == (0, "started omni\n"), done.stderr
    assert len(owner.starts()) == 3


def test_one_that_never_comes_up_is_told_with_its_log(owner: Owner) -> None:
    done = start(owner.spec(failures=9))
    assert done.returncode == 1
    assert "omni ended with 3, 3 times" in done.stderr
    assert done.stderr.rstrip().endswith("the port is taken")
    assert len(owner.starts()) == 3


def test_a_port_of_another_program_is_left_alone(owner: Owner, tmp_path: Path) -> None:
    assert start(owner.spec()).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = start(owner.spec(folder=elsewhere))
    assert done.returncode == 1
    assert f"port {owner.port} of omni is taken by another program" in done.stderr
    assert not (elsewhere / "starts").exists()
