"""sglang-router and vllm-router themselves, on loopback, in front of small engines: drain, readmit, proof, keys, death."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of, stop
from ansible_collections.tandem.campaign.plugins.module_utils._mode.proof import prove_admitted, prove_closed
from ansible_collections.tandem.campaign.plugins.module_utils._mode.router import Router
from ansible_collections.tandem.campaign.plugins.module_utils._mode.routers import router_of
from ansible_collections.tandem.campaign.plugins.module_utils._mode.worker_metrics import running_requests
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Admission, Health, Service
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench, free_port

from .conftest import DEMO

Api = Literal["sglang", "vllm"]
ENGINE = Path(__file__).parents[1] / "fakes" / "engine_server.py"
KEYS = {"admin": "tandem-test-admin", "data": "tandem-test-data"}


@contextmanager
def started(argv: list[str], url: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program until the block ends; begun once it answers."""
    with log.open("ab") as output:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while not answers(url):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield process
    finally:
        identity = identity_of(process.pid)
        if identity:
            stop(identity, 5.0)
        process.wait(10)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def router_argv(api: Api, port: int, workers: list[str], *, keys: bool = True) -> list[str]:
    common = [
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--prometheus-host",
        "127.0.0.1",
        "--prometheus-port",
        str(free_port()),
    ]
    if api == "vllm":
        return [str(DEMO / "venv/bin/vllm-router"), *common, "--policy", "round_robin", "--worker-urls", *workers]
    more = ["--api-key", KEYS["data"], "--control-plane-api-keys", f"id:name:admin:{KEYS['admin']}"] if keys else []
    return [str(DEMO / "venv/bin/smg"), "launch", *common, "--policy", "cache_aware", *more, "--worker-urls", *workers]


@dataclass
class Setup:
    """A router before two workers; the second one's requests take ``reply_s``."""

    api: Api
    url: str
    workers: list[str]
    folder: Path
    process: subprocess.Popen[bytes]

    def router(self, **options: Any) -> Router:
        keys = {"key_file": self.key("admin"), "data_key_file": self.key("data")} if self.api == "sglang" else {}
        admission = Admission(self.api, self.url, **{**keys, "drain_s": 10.0, **options})
        bench = Bench(self.folder)
        bench.declare(services={"router": Service("process", argv=("/bin/x",), admission=admission)})
        return router_of(bench.host, "router")

    def key(self, name: str) -> str:
        file = self.folder / f"{name}.key"
        file.write_text(KEYS.get(name, name) + "\n")
        return str(file)

    def listed(self) -> set[str]:
        return {worker.url for worker in self.router().workers()}


@pytest.fixture(params=["sglang", "vllm"])
def setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Setup]:
    with ExitStack() as stack:
        ports = [free_port(), free_port()]
        workers = [f"http://127.0.0.1:{port}" for port in ports]
        for port, reply_s in zip(ports, ("0", "1.5"), strict=True):
            argv = [sys.executable, str(ENGINE), str(port), f"m{port}", "--reply-s", reply_s]
            stack.enter_context(started(argv, f"http://127.0.0.1:{port}/health", tmp_path / f"{port}.log"))
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        process = stack.enter_context(
            started(router_argv(request.param, port, workers), f"{url}/readiness", tmp_path / "router.log")
        )
        yield Setup(request.param, url, workers, tmp_path, process)


def test_drain_readmit_and_prove(setup: Setup) -> None:
    router, worker = setup.router(), setup.workers[0]
    assert setup.listed() == set(setup.workers)
    assert "the engine's own counter rose" in prove_admitted(router, worker)
    assert router.drain(worker) == "drained"
    assert setup.listed() == {setup.workers[1]}
    model = f"m{worker.rsplit(':', 1)[1]}"
    assert "another worker" in prove_closed(router, worker, model) or "refused" in prove_closed(router, worker, model)
    with pytest.raises(CampaignError, match="doesn't list"):
        prove_admitted(router, worker)
    assert router.readmit(worker) is True
    assert router.readmit(worker) is False
    assert "the engine's own counter rose" in prove_admitted(router, worker)


def test_a_running_request_ends_within_the_bound(setup: Setup) -> None:
    """It was sent through the router before the drain, and is answered after it."""
    router, slow = setup.router(), setup.workers[1]
    router.drain(setup.workers[0])
    statuses: list[int] = []
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEYS['data']}"}
    request = urllib.request.Request(f"{setup.url}/v1/chat/completions", body, headers)

    def ask() -> None:
        with urllib.request.urlopen(request, timeout=20) as response:
            statuses.append(response.status)

    thread = threading.Thread(target=ask)
    thread.start()
    deadline = time.monotonic() + 5
    while running_requests(slow) == 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert router.drain(slow) == "drained"
    thread.join()
    assert statuses == [200]


def test_a_request_longer_than_the_bound_is_counted(setup: Setup) -> None:
    router, slow = setup.router(drain_s=0.4), setup.workers[1]
    body = json.dumps({"model": "m", "messages": [], "max_tokens": 1}).encode()
    thread = threading.Thread(
        target=lambda: urllib.request.urlopen(f"{slow}/v1/chat/completions", body, timeout=20).read()
    )
    thread.start()
    time.sleep(0.2)
    assert router.drain(slow) == f"drained; 1 running request of {slow} in flight after 0.4 s of drain, cut off"
    thread.join()


def test_a_dead_router_fails_closed(setup: Setup) -> None:
    router = setup.router()
    setup.process.kill()
    setup.process.wait()
    for act in (router.workers, lambda: router.drain(setup.workers[0]), lambda: router.readmit(setup.workers[0])):
        with pytest.raises(CampaignError, match=r"router router can't list its workers: .*refused"):
            act()


def test_a_slow_router_fails_closed(setup: Setup) -> None:
    """It hangs: SIGSTOP. The call ends by its own limit."""
    identity = identity_of(setup.process.pid)
    assert identity is not None
    setup.process.send_signal(19)
    start = time.monotonic()
    try:
        with pytest.raises(CampaignError, match=r"can't list its workers: no end within 10 s"):
            setup.router().workers()
    finally:
        setup.process.send_signal(18)
    assert time.monotonic() - start < 13


def test_keys(setup: Setup) -> None:
    """sglang-router keeps its admission interface behind the control-plane key; vllm-router's is open to everyone who reaches it."""
    if setup.api == "vllm":
        assert len(setup.router(key_file=setup.key("wrong")).workers()) == 2
        return
    with pytest.raises(CampaignError, match="HTTP 401"):
        setup.router(key_file=setup.key("data")).workers()
    with pytest.raises(CampaignError, match="HTTP 401"):
        prove_admitted(setup.router(data_key_file=setup.key("admin")), setup.workers[0])


@pytest.mark.parametrize("in_exclusive", ["drained", "stopped"])
@pytest.mark.parametrize("api", ["sglang", "vllm"])
def test_both_ways_out_and_back(tmp_path: Path, api: Api, in_exclusive: Literal["drained", "stopped"]) -> None:
    """The router of the host itself: it stays up and admits nobody, or it is stopped and knows its workers again afterwards."""
    bench = Bench(tmp_path)
    omni = bench.host.services["omni"]
    worker = str(omni.health.url).rstrip("/") if omni.health else ""
    port = free_port()
    program = "smg" if api == "sglang" else "vllm-router"
    router = Service(
        "process",
        argv=tuple(router_argv(api, port, [worker], keys=False)),
        match=rf"(^sglang::router|^vllm::router|{program} .*--port {port})",
        health=Health(url=f"http://127.0.0.1:{port}/{'liveness' if api == 'sglang' else 'health'}", start_s=30),
        in_exclusive=in_exclusive,
        admission=Admission(api, f"http://127.0.0.1:{port}", drain_s=5.0),
        stop_s=5.0,
    )
    bench.declare(services={"omni": omni, "router": router})
    bench.start("omni", "router")
    try:
        deadline = time.monotonic() + 20
        while not router_of(bench.host, "router").workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        bench.enter()
        assert bench.running() == {"omni": False, "router": in_exclusive == "drained"}
        healed = bench.heal()
        assert healed.differences == ()
        assert bench.running() == {"omni": True, "router": True}
        assert "the engine's own counter rose" in prove_admitted(router_of(bench.host, "router"), worker)
        # A backend that is gone while the router still lists it: the host is not taken (case I10).
        bench.hand("omni").stop()
        with pytest.raises(
            RefusedError, match=r"router router still admits omni at .* as a backend, but omni is absent"
        ):
            bench.enter()
    finally:
        bench.clear()
