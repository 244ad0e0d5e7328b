"""The docker runtime's own time: how soon an end, a readiness and a release are noticed, and what a load costs beside `docker run`.

    make bench-engine          # needs root and what `make test-hosts` makes

Prints every figure with its bar and ends with 1 where one is missed. Medians of ROUNDS interleaved rounds; not a test.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._engine.container_spec import container_name
from ansible_collections.tandem.campaign.plugins.module_utils._engine.lane import load, unload
from ansible_collections.tandem.campaign.plugins.module_utils._engine.load import Loading
from ansible_collections.tandem.campaign.plugins.module_utils._engine.readiness import Prober
from ansible_collections.tandem.campaign.plugins.module_utils._engine.runtimes import runtime_for
from ansible_collections.tandem.campaign.plugins.module_utils._host.container import PLAN_LABEL
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_socket import ask_keeper
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, EngineError
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import ContainerStart, LaunchPlan, Mount
from ansible_collections.tandem.campaign.tests.fakes.bench import IDENTITY, Bench
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import ENGINE, SCRIPTED, Daemon, private_daemon

ROOT = Path(__file__).resolve().parents[1]
HUB = Path(os.environ.get("TANDEM_DEMO_DIR") or ROOT / ".demo") / "cache" / "hub"
ROUNDS = 9
STOP_S = 1.0


class Host(Bench):
    """Taken, without services, whose engines are containers of the benchmark's own Docker Engine."""

    def __init__(self, folder: Path, daemon: Daemon) -> None:
        super().__init__(folder, lease_s=3600.0)
        self.daemon = daemon
        self.attempts = 0
        self.declare(services={}, modes={}, docker_socket=daemon.socket)
        self.images = {image: daemon.cli("inspect", "--format", "{{.Id}}", image) for image in (SCRIPTED, ENGINE)}

    def plan(self, image: str, *argv: str, name: str = "bench") -> LaunchPlan:
        start = ContainerStart(
            socket=self.daemon.socket, name=container_name(name), image=image, network="host", mounts=(Mount(str(HUB), "/hf/hub", read_only=True),),
            tmpfs={}, device_driver="", devices=(), ipc="private", shm_gib=0.25, ulimits={}, labels={}, image_id=self.images[image],
        )  # fmt: skip
        return LaunchPlan(
            name,
            "llama_cpp",
            "docker",
            argv,
            {},
            "m",
            "/hf/hub",
            "127.0.0.1",
            self.host.port,
            60.0,
            STOP_S,
            4096,
            1,
            {"a": "cpu"},
            start,
        )

    def scripted(self, *options: str) -> LaunchPlan:
        return self.plan(SCRIPTED, "python3", "/opt/scripted_engine.py", "--port", str(self.host.port), *options)

    def real(self) -> LaunchPlan:
        (weights,) = HUB.glob("models--*/snapshots/*/*.gguf")
        arguments = (
            "--model",
            f"/hf/hub/{weights.relative_to(HUB)}",
            "--alias",
            "m",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.host.port),
        )
        return self.plan(ENGINE, "/opt/tandem/llama-cpp-server", *arguments, "--ctx-size", "4096", "--cache-ram", "0")

    def folder_of_attempt(self) -> Path:
        self.attempts += 1
        return self.folder / f"attempt-{self.attempts}"


def exit_noticed(host: Host) -> tuple[float, float]:
    """Seconds after FinishedAt, by us and by a look every second; each plan its own, so that nothing is taken for it."""
    plan = replace(host.scripted("--listen-after", "60", "--exit-after", "1.2"), recipe=f"exit-{host.attempts}")
    log = host.folder_of_attempt() / "startup.log"
    engine = ask_keeper(host.state_dir, {"op": "start", "plan": to_document(plan), "log": str(log)})["engine"]
    identifier = engine["identity"]["id"]
    polled: list[float] = []
    stop = threaded(lambda: _poll(host, identifier, polled))

    def status() -> Any:
        return ask_keeper(host.state_dir, {"op": "status"})["engine"]

    noticed = _time_of_failure(Loading(plan, runtime_for(plan), engine["identity"], status, log, lambda _text: None))
    stop()
    finished = host.daemon.docker().inspect(identifier)
    ended = datetime.fromisoformat(str((finished or {})["State"]["FinishedAt"])[:26] + "+00:00").timestamp()
    unload(plan, host.state_dir, log.parent, IDENTITY, lambda _text: None)
    return noticed - ended, polled[0] - ended


def _time_of_failure(loading: Loading) -> float:
    try:
        loading.wait_ready()
    except EngineError:
        return time.time()
    raise SystemExit("the engine was to end")


def _poll(host: Host, identifier: str, noticed: list[float]) -> None:
    while host.daemon.docker().container(identifier).running:  # type: ignore[union-attr]
        time.sleep(1.0)
    noticed.append(time.time())


def threaded(act: Callable[[], None]) -> Callable[[], None]:
    import threading

    thread = threading.Thread(target=act)
    thread.start()
    return thread.join


def readiness_noticed(host: Host) -> float:
    """Seconds after the engine began to answer, as its own log says it."""
    plan = host.scripted("--listen-after", "1.0")
    folder = host.folder_of_attempt()
    ready: list[float] = []
    load(
        plan,
        host.state_dir,
        folder,
        IDENTITY,
        lambda text: ready.append(time.time()) if text.startswith("ready") else None,
    )
    log = (folder / "startup.log").read_text()
    began = float(next(line.split()[-1] for line in log.splitlines() if line.startswith("listening at")))
    unload(plan, host.state_dir, folder, IDENTITY, lambda _text: None)
    return ready[0] - began


def load_to_ready(host: Host) -> float:
    """Of the real engine, from the call to readiness: port, plan, journal, container, first completion."""
    plan, folder = host.real(), host.folder_of_attempt()
    ready: list[float] = []
    begun = time.time()
    load(
        plan,
        host.state_dir,
        folder,
        IDENTITY,
        lambda text: ready.append(time.time()) if text.startswith("ready") else None,
    )
    unload(plan, host.state_dir, folder, IDENTITY, lambda _text: None)
    return ready[0] - begun


def run_to_ready(host: Host) -> float:
    """The same container by `docker run`, and the same three proofs of readiness."""
    plan = host.real()
    happened: list[Any] = []
    begun = time.time()
    host.daemon.cli(
        "run", "--detach", "--init", "--name", "peer", "--network", "host", "--shm-size", "256m", "--volume", f"{HUB}:/hf/hub:ro", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--entrypoint", plan.argv[0], ENGINE, *plan.argv[1:],
    )  # fmt: skip
    Prober(plan, happened.append).run()
    elapsed = time.time() - begun
    if happened != ["ready"]:
        raise SystemExit(f"docker run: {happened}")
    host.daemon.cli("rm", "--force", "peer")
    return elapsed


def forced_release(host: Host) -> float:
    """Of an engine that ignores its stop: from the call to absence, less the bound."""
    plan, folder = host.scripted("--deaf"), host.folder_of_attempt()
    load(plan, host.state_dir, folder, IDENTITY, lambda _text: None)
    begun = time.time()
    unload(plan, host.state_dir, folder, IDENTITY, lambda _text: None)
    return time.time() - begun - STOP_S


def main() -> int:
    missed = 0

    def show(what: str, values: list[float], limit: float | None = None, unit: str = "s") -> float:
        nonlocal missed
        median = statistics.median(values)
        missed += limit is not None and median > limit
        verdict = "" if limit is None else f"   bar {limit:.3f} {unit}   {'met' if median <= limit else 'MISSED'}"
        print(
            f"{what:<66} {median:7.3f} {unit} [{min(values):.3f}..{max(values):.3f}] n={len(values)}{verdict}",
            flush=True,
        )
        return median

    with private_daemon() as daemon, tempfile.TemporaryDirectory() as scratch:
        daemon.make_engine_images()
        host = Host(Path(scratch), daemon)
        host.enter()
        try:
            rounds = [
                (
                    exit_noticed(host),
                    readiness_noticed(host),
                    load_to_ready(host),
                    run_to_ready(host),
                    forced_release(host),
                )
                for number in range(ROUNDS)
            ]
        finally:
            if (
                left := daemon.cli("ps", "--all", "--quiet", "--filter", f"label={PLAN_LABEL}")
            ) and host.state_dir.is_dir():
                print(f"left: {left}")
            host.clear()
    ours, polled = [one[0][0] for one in rounds], [one[0][1] for one in rounds]
    show("an exit is noticed after FinishedAt", ours, 0.100)
    show("a look every second", polled)
    show("ratio of the two", [statistics.median(ours) / statistics.median(polled)], 0.2, "x")
    show("readiness is noticed after the first completion could be had", [one[1] for one in rounds], 0.150)
    loaded, ran = [one[2] for one in rounds], [one[3] for one in rounds]
    show("load to ready, the real engine", loaded)
    show("docker run and the same readiness", ran)
    show("ratio of the two", [statistics.median(loaded) / statistics.median(ran)], 1.15, "x")
    show(f"forced release of a deaf engine beyond its bound of {STOP_S:g} s", [one[4] for one in rounds], 0.300)
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CampaignError as exc:
        sys.exit(str(exc))
