"""A demo host of its own for each test file, and campaigns against it. `make test` has set up the engine and the weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import (
    command_line,
    identity_of,
    listening_ports,
    pids,
    stop,
)
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import Daemon, private_daemon
from ansible_collections.tandem.campaign.tests.fakes.nvidia import Cards

ROOT = Path(__file__).resolve().parents[2]
DEMO = Path(os.environ.get("TANDEM_DEMO_DIR") or ROOT / ".demo")
BIN = Path(sys.executable).parent
#: Ports of a host: engine, omni, router, router's metrics.
PORTS = 4
#: Below those that the system hands out by itself, which any connection may hold for a moment.
FIRST_PORT = 28200


@dataclass
class DemoHost:
    """One workstation as the demo inventory declares it, with its own folder and ports."""

    folder: Path
    port: int
    variables: dict[str, Any] = field(default_factory=dict)

    @property
    def packet(self) -> Path:
        return self.folder / "campaigns" / "quick" / "primary"

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))}
        path = f"{BIN}:{os.environ['PATH']}"
        return {
            **kept,
            "PATH": path,
            "TANDEM_DEMO_DIR": str(self.folder),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            **more,
        }

    def arguments(self, playbook: str, **extra: Any) -> list[str]:
        variables = {
            "demo_port": self.port,
            "campaign_id": "quick",
            "campaign_dir": str(self.folder / "campaigns"),
            "campaign_recipes": ["quick"],
            "campaign_recipe_paths": [str(ROOT / "tests" / "fixtures" / "recipes")],
            "campaign_lease_s": 6,
            **self.variables,
            **extra,
        }
        return [
            str(BIN / "ansible-playbook"), playbook, "-i", str(ROOT / "inventories" / "demo"), "-l", "primary", "-e", json.dumps(variables),
        ]  # fmt: skip

    def play(
        self,
        playbook: str,
        *options: str,
        timeout: float = 300,
        environment: Mapping[str, str] = MappingProxyType({}),
        **extra: Any,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.arguments(playbook, **extra), *options],
            cwd=ROOT,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def campaign(self, *options: str, **extra: Any) -> subprocess.CompletedProcess[str]:
        return self.play(str(ROOT / "playbooks" / "campaign.yml"), *options, **extra)

    def start_campaign(self, **extra: Any) -> subprocess.Popen[str]:
        """A campaign in its own session, for tests that interfere; its output is a pipe."""
        return subprocess.Popen(
            self.arguments(str(ROOT / "playbooks" / "campaign.yml"), **extra),
            cwd=ROOT,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def verdict(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.packet / "verdict.json").read_text())
        return document

    def processes(self) -> dict[str, list[int]]:
        """Service (and engine) -> pids, by this test's own look."""
        mine = {pid: " ".join(command_line(pid)) for pid in pids()}
        return {
            "omni": [pid for pid, text in mine.items() if f"{self.folder}/llama_cpp_server.py" in text],
            "router": [
                pid for pid, text in mine.items() if "sglang::router" in text and self.port + 2 in listening_ports(pid)
            ],
            "engine": [pid for pid, text in mine.items() if f"{self.folder}/state/programs/llama_cpp_server" in text],
            "keeper": [
                pid
                for pid, text in mine.items()
                if f"{self.folder}/state/programs/keeper" in text and " watch " in text
            ],
        }

    def is_as_the_owner_left_it(self) -> bool:
        found = self.processes()
        return [len(found[name]) for name in ("omni", "router", "engine")] == [1, 1, 0]

    def wait_restored(self, limit_s: float) -> float:
        """Seconds until the reservation is gone and its keeper with it."""
        start = time.monotonic()
        while (self.state_dir / "reservation").exists() or self.processes()["keeper"]:
            assert time.monotonic() - start < limit_s, f"not restored within {limit_s} s"
            time.sleep(0.1)
        return time.monotonic() - start

    def clear(self) -> None:
        for found in self.processes().values():
            for pid in found:
                identity = identity_of(pid)
                if identity:
                    stop(identity, 5.0)


@pytest.fixture(scope="module")
def demo_host(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[DemoHost]:
    """Laid out and started as its owner would, once a test file."""
    folder = tmp_path_factory.mktemp("host")
    files = sorted(path.name for path in Path(__file__).parent.glob("test_*.py"))
    host = DemoHost(folder, FIRST_PORT + PORTS * files.index(request.path.name))
    for name in ("venv", "cache"):
        (folder / name).symlink_to(DEMO / name)
    try:
        done = host.play(str(ROOT / "tools" / "demo_host.yml"))
        assert done.returncode == 0, done.stdout + done.stderr
        yield host
    finally:
        # Also of a start that failed half-way: what it has started would hold the ports of the next run.
        host.clear()


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cards]:
    """Two cards on the PATH of the engine and of the tests."""
    cards = Cards(tmp_path_factory.mktemp("cards"))
    cards.hook()
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{cards.folder}:{before}"
    yield cards
    os.environ["PATH"] = before


@pytest.fixture(scope="module")
def daemon(cards: Cards) -> Iterator[Daemon]:
    """A Docker Engine of the test file's own, which takes GPU requests."""
    with private_daemon(cards.folder) as running:
        yield running


@pytest.fixture(scope="module")
def engines(daemon: Daemon) -> Daemon:
    """The same with the images of engines."""
    daemon.make_engine_images()
    return daemon
