"""One host for all injected faults, with a real router: whatever happens to it, it has to be as before afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.lock import lock_is_held
from ansible_collections.tandem.campaign.plugins.module_utils._mode.router import Router
from ansible_collections.tandem.campaign.plugins.module_utils._mode.routers import router_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils.state_main import READER
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench, free_port

from . import matrix

ROOT = Path(__file__).resolve().parents[2]
DEMO = Path(os.environ.get("TANDEM_DEMO_DIR") or ROOT / ".demo")
DRIVER = Path(__file__).parent / "driver.py"
KEY = "tandem-test-admin"


class FaultHost(Bench):
    """The matrix' host with real programs: small engines, and sglang-router with a control-plane key."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        ports = {name: free_port() for name in ("primary", "omni", "voice", "router")}
        (folder / "admin.key").write_text(KEY)
        workers = [f"http://127.0.0.1:{ports[name]}" for name in ("primary", "omni")]
        router_argv = (
            str(DEMO / "venv/bin/smg"), "launch", "--host", "127.0.0.1", "--port", str(ports["router"]), "--prometheus-host", "127.0.0.1",
            "--prometheus-port", str(free_port()), "--policy", "round_robin", "--control-plane-api-keys", f"id:name:admin:{KEY}",
            "--worker-urls", *workers,
        )  # fmt: skip
        # What is under test keeps its secret in a file; the router of the tests is started by the tests themselves.
        script = folder / "router.sh"
        script.write_text("#!/bin/sh\nexec " + " ".join(router_argv) + "\n")
        script.chmod(0o755)
        declared = matrix.host(ports)
        services = {
            name: replace(service, argv=(sys.executable, str(self.program), str(ports[name]), name))
            for name, service in declared.services.items()
            if name != "router"
        }
        router = declared.services["router"]
        admission = replace(router.admission, key_file=str(folder / "admin.key")) if router.admission else None
        services["router"] = replace(
            router, argv=(str(script),), match="^sglang::router", admission=admission, log=str(folder / "router.log")
        )
        self.declare(services=services)
        self.number = 0

    def router(self) -> Router:
        return router_of(self.host, "router")

    def bring_up(self) -> None:
        """As its owner has it: everything runs, the router admits both of its workers."""
        self.start(*(name for name, running in self.running().items() if not running))
        deadline = time.monotonic() + 30
        while len([worker for worker in self.router().workers() if worker.healthy]) < 2:
            assert time.monotonic() < deadline, (self.folder / "router.log").read_text()[-2000:]
            time.sleep(0.05)

    def state(self) -> dict[str, Any]:
        return READER.read(self.host)

    def drive(self, act: str, **job: Any) -> subprocess.CompletedProcess[str]:
        """Takes the host or gives it back in a process of its own; ``kill`` or ``fill_at`` name the fault."""
        self.number += 1
        file = self.folder / f"job-{self.number}.json"
        document = {"act": act, "state_dir": str(self.state_dir), "campaign": "c", "keeper": str(self.keeper), **job}
        file.write_text(json.dumps({**document, "host": to_document(self.host)}))
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
        return subprocess.run(
            [sys.executable, str(DRIVER), str(file)], env=environment, capture_output=True, text=True, timeout=120, check=False
        )  # fmt: skip

    def restore_by_hand(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(self.keeper), "restore", "--state-dir", str(self.state_dir), *options],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def wait_for_keeper(self, limit_s: float) -> None:
        """Until the keeper has given the host back by itself."""
        deadline = time.monotonic() + limit_s
        while (self.state_dir / "reservation").exists() or lock_is_held(self.host.lock_path):
            assert time.monotonic() < deadline, (self.state_dir / "keeper.log").read_text()[-2000:]
            time.sleep(0.05)

    def assert_as_before(self, before: dict[str, Any]) -> None:
        """By the reader and by this file's own look: nothing reserved, nothing different, and a second restore changes nothing."""
        assert not (self.state_dir / "reservation").exists()
        deadline = time.monotonic() + 5
        while lock_is_held(self.host.lock_path):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert READER.diff(before, self.state()) == []
        assert self.running() == dict.fromkeys(self.host.services, True)
        again = self.restore_by_hand()
        assert (again.returncode, again.stdout) == (0, "Nothing to restore: no campaign holds this host.\n")
        diff = sorted((self.state_dir / "history").glob("*/state-diff.json"))
        assert not diff or json.loads(diff[-1].read_text())["count"] == 0


@pytest.fixture(scope="module")
def fault_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHost]:
    host = FaultHost(tmp_path_factory.mktemp("host"))
    host.bring_up()
    yield host
    host.clear()


@pytest.fixture
def before(fault_host: FaultHost) -> dict[str, Any]:
    """The state before the fault. A host that an earlier fault left in another state is brought up again."""
    fault_host.bring_up()
    return fault_host.state()
