"""Engines in a real Docker Engine: exactly the plan, noticed when they end, read back, removed. Faults are made real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.container_spec import container_name, create_body
from ansible_collections.tandem.campaign.plugins.module_utils._engine.docker_runtime import DockerRuntime
from ansible_collections.tandem.campaign.plugins.module_utils._engine.lane import load, unload
from ansible_collections.tandem.campaign.plugins.module_utils._engine.runtimes import record_of
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import read_json
from ansible_collections.tandem.campaign.plugins.module_utils._host import docker_containers
from ansible_collections.tandem.campaign.plugins.module_utils._host.container import PLAN_LABEL
from ansible_collections.tandem.campaign.plugins.module_utils._host.docker_containers import create, labelled, remove
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_socket import ask_keeper
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, EngineError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Role
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import ContainerStart, LaunchPlan, Mount
from ansible_collections.tandem.campaign.plugins.plugin_utils.signatures import own_signatures
from ansible_collections.tandem.campaign.tests.fakes.bench import IDENTITY, Bench
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import SCRIPTED, TINY, Daemon, private_daemon
from ansible_collections.tandem.campaign.tests.fakes.nvidia import UUIDS, Cards
from ansible_collections.tandem.campaign.tests.fakes.server import scripted
from ansible_collections.tandem.campaign.tests.fakes.stalling_proxy import stalling_proxy


class EngineHost(Bench):
    """A host without services, taken, whose engines are containers."""

    def __init__(self, folder: Path, daemon: Daemon) -> None:
        super().__init__(folder)
        self.daemon = daemon
        self.attempt = folder / "attempt"
        (folder / "cache").mkdir()
        (folder / "cache" / "weights").write_text("w")
        roles = {"compute_a": Role(uuid=UUIDS[0]), "compute_b": Role(uuid=UUIDS[1])}
        self.declare(services={}, modes={}, gpu_roles=roles, docker_socket=daemon.socket, gpu_release_s=1.0)

    def plan(self, *options: str, **fields: Any) -> LaunchPlan:
        """A start of scripted_engine.py on both roles."""
        start = ContainerStart(
            socket=self.daemon.socket, name=container_name("scripted"), image="repo@sha256:x", network="host",
            mounts=(Mount(str(self.folder / "cache"), "/hf/hub", read_only=True),), tmpfs={"/run/tandem/hf-modules": "rw,nosuid,nodev,size=16m"},
            device_driver="", devices=UUIDS, ipc="private", shm_gib=0.25, ulimits={"stack": 67108864}, labels={"tandem.campaign.recipe": "scripted"},
            image_id=self.daemon.cli("inspect", "--format", "{{.Id}}", SCRIPTED),
        )  # fmt: skip
        container = replace(start, **fields.pop("container", {}))
        argv = ("python3", "/opt/scripted_engine.py", "--port", str(self.host.port), *options)
        plan = LaunchPlan(
            "scripted", "llama_cpp", "docker", argv, {"NCCL_P2P_DISABLE": "1", "HF_HUB_OFFLINE": "1"}, "m", "/hf/hub", "127.0.0.1",
            self.host.port, 20.0, 2.0, 4096, 1, {"compute_a": UUIDS[0], "compute_b": UUIDS[1]}, container,
        )  # fmt: skip
        return replace(plan, **fields)

    def load(self, plan: LaunchPlan) -> dict[str, Any]:
        return load(plan, self.state_dir, self.attempt, IDENTITY, self.told.append, own_signatures())

    def unload(self, plan: LaunchPlan) -> dict[str, Any]:
        return unload(plan, self.state_dir, self.attempt, IDENTITY, self.told.append)

    def refused(self, plan: LaunchPlan) -> CampaignError:
        with pytest.raises(CampaignError) as caught:
            self.load(plan)
        return caught.value

    def artifact(self, name: str) -> Any:
        return read_json(self.attempt / name)

    def containers(self) -> list[str]:
        return self.daemon.cli("ps", "--all", "--format", "{{.Names}}").split()


@pytest.fixture
def host(tmp_path: Path, engines: Daemon, cards: Cards) -> Iterator[EngineHost]:
    cards.use(400, 400)
    host = EngineHost(tmp_path, engines)
    host.enter()
    yield host
    host.clear()
    engines.remove_all()


def test_loads_exactly_the_plan_and_leaves_nothing(host: EngineHost, daemon: Daemon) -> None:
    plan = host.plan("--say", "hello")
    loaded = host.load(plan)
    assert (loaded["changed"], loaded["unproven"]) == (True, [])
    live = host.artifact("live.json")
    assert live["deviations"] == []
    assert live["live"]["devices_inside"] == {"uuids": sorted(UUIDS), "by": ["nvidia-smi", "-L"]}
    names = {row["name"]: row["verdict"] for row in live["comparisons"]}
    wanted = (
        "argv",
        "mounts",
        "device requests",
        "devices inside",
        "restart policy",
        "init process",
        "no new privileges",
        "shm_gib",
        "ipc",
        "image",
    )
    assert [names[name] for name in wanted] == ["passed"] * len(wanted)
    inspected = json.loads(daemon.cli("inspect", container_name("scripted")))[0]
    assert inspected["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] == list(UUIDS)
    assert inspected["HostConfig"]["DeviceRequests"][0]["Count"] == 0
    again = host.load(plan)
    assert (again["changed"], json.loads(daemon.cli("inspect", container_name("scripted")))[0]["Id"]) == (
        False,
        inspected["Id"],
    )
    unloaded = host.unload(plan)
    assert (unloaded["changed"], unloaded["outcome"]) == (True, "terminated")
    assert host.containers() == []
    assert "hello" in (host.attempt / "startup.log").read_text()
    assert host.artifact("startup.container.json")["HostConfig"]["RestartPolicy"]["Name"] == "no"
    assert host.unload(plan)["changed"] is False


def test_the_engine_can_write_its_remote_code_folder_and_nothing_of_the_cache(host: EngineHost, daemon: Daemon) -> None:
    host.load(host.plan())
    name = container_name("scripted")
    assert daemon.cli("exec", name, "sh", "-c", "touch /run/tandem/hf-modules/x && echo written") == "written"
    with pytest.raises(RuntimeError, match="Read-only file system"):
        daemon.cli("exec", name, "touch", "/hf/hub/x")
    assert daemon.cli("exec", name, "sh", "-c", "df -m /dev/shm | tail -1 | awk '{print $2}'") == "256"


def test_a_cache_in_a_named_volume(host: EngineHost, daemon: Daemon) -> None:
    daemon.cli("volume", "create", "hfcache")
    mounts = (Mount("hfcache", "/hf/hub", read_only=True, kind="volume"),)
    host.load(host.plan(container={"mounts": mounts}))
    assert host.artifact("live.json")["deviations"] == []
    with pytest.raises(RuntimeError, match="Read-only file system"):
        daemon.cli("exec", container_name("scripted"), "touch", "/hf/hub/x")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--exit-after", "0.3", "--exit-code", "3", "--say", "ModuleNotFoundError: No module named 'accelerate'", "--listen-after", "9"),
         ("ended with exit status 3", "before it was ready", "accelerate")),
        (("--signal-on-chat", str(int(signal.SIGFPE))), ("exit status 136", "SIGFPE", "floating-point", "on its first generation")),
        (("--signal-on-chat", str(int(signal.SIGSEGV))), ("exit status 139", "segmentation fault", "on its first generation")),
    ],
)  # fmt: skip
def test_an_engine_that_ends_fails_at_once_with_its_meaning(
    host: EngineHost, options: tuple[str, ...], says: tuple[str, ...]
) -> None:
    """Cases D1, A7, J11: exit code, meaning, last log lines; the container and its log are kept as evidence until the unload."""
    begun = time.monotonic()
    plan = host.plan(*options)
    error = host.refused(plan)
    assert time.monotonic() - begun < 8
    assert all(text in str(error) for text in says), error
    assert "out of memory" not in str(error)
    assert error.facts["log_tail"][0] == "scripted engine"
    host.unload(plan)
    assert host.containers() == []
    assert "scripted engine" in (host.attempt / "startup.log").read_text()


def test_a_kill_from_outside_is_told_from_a_stop_and_from_memory(host: EngineHost, daemon: Daemon) -> None:
    threading.Timer(1.0, lambda: daemon.cli("kill", container_name("scripted"))).start()
    error = host.refused(host.plan("--listen-after", "30"))
    assert "exit status 137" in str(error)
    assert "somebody stopped it through the Docker Engine, signal 9" in str(error)
    assert "out of memory" not in str(error)


def test_a_container_that_somebody_removes_under_us(host: EngineHost, daemon: Daemon) -> None:
    threading.Timer(1.0, lambda: daemon.cli("rm", "--force", container_name("scripted"))).start()
    error = host.refused(host.plan("--listen-after", "30"))
    assert "its container is gone: somebody removed it" in str(
        error
    ) or "somebody stopped it through the Docker Engine" in str(error)


def test_a_key_that_can_not_be_read_is_said_before_the_start(host: EngineHost) -> None:
    error = host.refused(host.plan(key_file="/nonexistent/key"))
    assert "campaign_engine_key_file /nonexistent/key can't be read" in str(error)
    assert host.containers() == []
    assert host.artifact("engine.json")["ready"] is False


def test_memory_that_ran_out_is_told_from_a_kill(host: EngineHost, daemon: Daemon) -> None:
    """The kernel's own killer: a limit is put on the running container, and the first request takes more."""
    plan = host.plan("--eat-on-chat", "256", "--listen-after", "1.5")
    name = container_name("scripted")

    def limit() -> None:
        while name not in host.containers():
            time.sleep(0.05)
        daemon.cli("update", "--memory", "64m", "--memory-swap", "64m", name)

    thread = threading.Thread(target=limit)
    thread.start()
    error = host.refused(plan)
    thread.join()
    assert "exit status 137" in str(error)
    assert "out of memory" in str(error)
    assert "on its first generation" in str(error)


def test_a_docker_engine_that_restarts_takes_its_containers_along(host: EngineHost, daemon: Daemon) -> None:
    """The event stream breaks; the end is noticed nevertheless."""
    thread = threading.Timer(1.0, daemon.restart)
    thread.start()
    plan = host.plan("--listen-after", "60", start_s=60.0)
    begun = time.monotonic()
    error = host.refused(plan)
    thread.join()
    assert time.monotonic() - begun < 30
    assert error.facts["stage"] == "exited"
    host.unload(plan)
    assert host.containers() == []


@pytest.mark.parametrize(
    ("swallow", "forward"), [("POST .*/stop", False), ("POST .*/stop", True), ("POST .*/(stop|kill)", False)]
)
def test_a_stop_call_that_hangs_does_not_keep_the_engine(
    host: EngineHost, daemon: Daemon, swallow: str, forward: bool
) -> None:
    """docker/for-win#13320: each step has a deadline of its own, and the forced removal comes last."""
    plan = host.plan(stop_s=1.0)
    host.load(plan)
    socket = Path(tempfile.mkdtemp(dir="/tmp")) / "s"
    assert plan.container is not None
    with stalling_proxy(socket, daemon.socket, swallow, forward=forward) as swallowed:
        record = {**record_of(plan, str(host.attempt / "startup.log")), "socket": str(socket)}
        begun = time.monotonic()
        (stopped,) = DockerRuntime(str(socket)).stop(record)
        assert time.monotonic() - begun < 30
    assert swallowed
    assert host.containers() == []
    assert stopped.what == f"container {container_name('scripted')}"


def test_an_engine_that_can_not_be_removed_leaves_the_host_unresolved(
    host: EngineHost, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next lane is refused with it: its port or name or memory is still taken, and the module says so."""
    plan = host.plan(stop_s=1.0)
    host.load(plan)
    monkeypatch.setattr(docker_containers, "ABSENT_S", 1.0)
    socket = Path(tempfile.mkdtemp(dir="/tmp")) / "s"
    with stalling_proxy(socket, daemon.socket, "DELETE ", forward=False):
        record = {**record_of(plan, str(host.attempt / "startup.log")), "socket": str(socket)}
        with pytest.raises(CampaignError, match="is still there 1 s after its forced removal"):
            DockerRuntime(str(socket)).stop(record)


def test_a_program_that_is_not_in_the_image(host: EngineHost) -> None:
    """Case J11's kind: nothing runs, and it isn't called loaded."""
    plan = host.plan(argv=("engine-serve", "--port", "1"))
    error = host.refused(plan)
    assert "exit status 127 (the program was not found in the image)" in str(error)
    assert "The program engine-serve is not in the image" in str(error)
    host.unload(plan)
    assert host.containers() == []


def test_a_deaf_engine_is_removed_within_its_bound(host: EngineHost) -> None:
    """Case I14: exit 137 after our own stop is ours, not out of memory."""
    plan = host.plan("--deaf", stop_s=1.0)
    host.load(plan)
    begun = time.monotonic()
    assert host.unload(plan)["outcome"] == "killed"
    assert time.monotonic() - begun < 4
    assert host.artifact("unload.json")["exit"] == "killed by SIGKILL (exit status 137, our own stop)"
    assert host.containers() == []


def test_a_foreign_container_of_the_same_name_is_left_alone(host: EngineHost, daemon: Daemon) -> None:
    """Case I12, second form."""
    daemon.cli("run", "--detach", "--name", container_name("scripted"), TINY, "sleep", "100")
    error = host.refused(host.plan())
    assert "is not one of ours" in str(error)
    assert daemon.status(container_name("scripted")) == "running"


def test_our_own_leftover_goes_and_its_log_is_kept(host: EngineHost, daemon: Daemon) -> None:
    """Case I12, first form: an exited engine of a crashed campaign has the name."""
    name, label = container_name("scripted"), f"{PLAN_LABEL}=old"
    old = daemon.cli(
        "create", "--name", name, "--label", label, "--entrypoint", "python3", SCRIPTED, "-c", "print('old words')"
    )
    daemon.cli("start", "--attach", name)
    host.load(host.plan())
    assert (host.attempt / f"leftover-{old[:12]}.log").read_text() == "old words\n"
    assert json.loads(daemon.cli("inspect", name))[0]["Id"] != old


def test_what_a_crashed_campaign_has_left_goes_before_the_state_is_looked_at(
    tmp_path: Path, engines: Daemon, cards: Cards
) -> None:
    cards.use(400, 400)
    engines.cli(
        "create",
        "--name",
        "left",
        "--label",
        f"{PLAN_LABEL}=old",
        "--entrypoint",
        "python3",
        SCRIPTED,
        "-c",
        "print('old words')",
    )
    engines.cli("start", "--attach", "left")
    engines.cli("run", "--detach", "--name", "owner-s", TINY, "sleep", "100")
    host = EngineHost(tmp_path, engines)
    host.enter()
    assert host.containers() == ["owner-s"]
    assert any("removed left" in text for text in host.told)
    healed = host.heal()
    assert healed.differences == ()
    assert healed.folder is not None
    assert next(healed.folder.glob("leftover-*.log")).read_text() == "old words\n"
    engines.remove_all()


def test_the_reader_sees_a_container_of_ours_that_stays(host: EngineHost, daemon: Daemon) -> None:
    """Whatever removed nothing: the difference is not empty."""
    daemon.cli("create", "--name", "stays", "--label", f"{PLAN_LABEL}=x", TINY, "true")
    (difference,) = host.heal().differences or ()
    assert difference["path"] == "/containers/stays"


def test_the_restore_removes_what_a_dead_keeper_had_started(host: EngineHost) -> None:
    plan = host.plan()
    host.load(plan)
    os.kill(int(json.loads(Path(host.host.lock_path).read_text())["pid"]), signal.SIGKILL)
    healed = host.heal()
    assert healed.done[0].startswith(f"unloaded the engine (container {container_name('scripted')}")
    assert host.containers() == []
    assert healed.differences == ()


def test_a_container_that_was_made_and_never_started_goes_too(host: EngineHost, daemon: Daemon) -> None:
    """As if the keeper had been killed between the two calls."""
    plan = host.plan()
    assert plan.container is not None
    create(daemon.docker(), create_body(plan, plan.container), plan.container.name)
    assert len(labelled(daemon.docker(), PLAN_LABEL)) == 1
    host.unload(plan)
    assert host.containers() == []


def test_other_devices_inside_than_asked_for_are_a_deviation(host: EngineHost, daemon: Daemon) -> None:
    """What Docker under WSL2 may do: all devices, whatever was asked for."""
    devices = f"{UUIDS[0]},{UUIDS[1]},GPU-cccccccc-0000-4000-8000-00000000000c".encode()
    daemon.derive(SCRIPTED, "tandem-test/all-devices:1", {"opt/devices": devices})
    identifier = daemon.cli("inspect", "--format", "{{.Id}}", "tandem-test/all-devices:1")
    error = host.refused(host.plan(container={"image_id": identifier}))
    assert "devices inside" in str(error)
    assert "GPU-cccccccc" in str(error)


def test_a_port_that_is_taken_is_named_with_who_answers_there(host: EngineHost) -> None:
    """Case D7, first form."""
    with scripted(lambda _method, _path, _body: (200, {"data": [{"id": "old-model"}]})) as server:
        host.declare(port=int(server.url.rsplit(":", 1)[1]))
        error = host.refused(host.plan())
    assert f"port {host.host.port} is already in use" in str(error)
    assert "old-model" in str(error)
    assert host.containers() == []


def test_devices_that_are_not_empty_are_waited_for_and_named(host: EngineHost, cards: Cards) -> None:
    """Case D11's gap: nothing is started there."""
    cards.use(400, 32000)
    error = host.refused(host.plan())
    assert "compute_b 32000 MiB" in str(error)
    assert host.containers() == []


def test_memory_that_stays_after_the_unload_refuses_the_next_lane(host: EngineHost, cards: Cards) -> None:
    plan = host.plan()
    host.load(plan)
    cards.use(90000, 400)
    with pytest.raises(CampaignError, match=r"GPU memory is not free .* compute_a 90000 MiB"):
        host.unload(plan)
    assert "GPU memory is not free" in str(host.refused(plan))
    cards.use(400, 400)


def test_the_keeper_tells_of_the_container(host: EngineHost) -> None:
    host.load(host.plan())
    status = ask_keeper(host.state_dir, {"op": "status"})["engine"]
    assert (status["running"], status["identity"]["runtime"]) == (True, "docker")


def test_the_engine_is_no_intruder(host: EngineHost) -> None:
    """It holds both declared devices; only a container that is none of ours is one."""
    host.load(host.plan())
    time.sleep(4)
    assert not (host.state_dir / "reservation" / "isolation.jsonl").exists()


def test_remove_waits_until_it_is_absent(daemon: Daemon) -> None:
    name = daemon.cli("run", "--detach", TINY, "sleep", "100")
    remove(daemon.docker(), name)
    assert name not in daemon.cli("ps", "--all", "--quiet", "--no-trunc")
    remove(daemon.docker(), name)


def test_on_a_bridge_the_port_is_published_on_loopback_only(tmp_path: Path, cards: Cards) -> None:
    """As on a workstation, in a network namespace of the engine's own."""
    with private_daemon(cards.folder, bridge=True) as bridged:
        bridged.make_engine_images()
        host = EngineHost(tmp_path, bridged)
        plan = host.plan("--host", "0.0.0.0", container={"network": "bridge"})
        runtime = DockerRuntime(bridged.socket)
        (host.attempt).mkdir()
        engine = runtime.start(plan, host.attempt / "startup.log")
        assert bridged.process is not None
        inside = ["nsenter", "--target", str(bridged.process.pid), "--net", "--"]
        ask = (
            f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{plan.port}/v1/models', timeout=1).status)"
        )
        deadline = time.monotonic() + 15
        while (
            asked := subprocess.run([*inside, sys.executable, "-c", ask], capture_output=True, text=True, check=False)
        ).returncode:
            assert time.monotonic() < deadline, asked.stderr + bridged.cli(
                "logs", plan.container.name if plan.container else ""
            )
        assert asked.stdout == "200\n"
        listening = subprocess.run(
            [*inside, "cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True, check=True
        ).stdout
        ends = [line.split()[1] for line in listening.splitlines() if f":{plan.port:04X} " in line and " 0A " in line]
        assert ends == [f"0100007F:{plan.port:04X}"]
        rows = runtime.live(plan, engine.identity()).comparisons
        assert [str(row) for row in rows if row.verdict != "passed"] == []
        assert {row.name for row in rows} >= {"network", "published ports"}
        said = runtime.run_python(plan, engine.identity(), "import sys; print(sys.argv[1:])", "a 'b'")
        assert said == "[\"a 'b'\"]\n"
        with pytest.raises(EngineError, match=r"(?s)python3 in the engine.s container: .*broken"):
            runtime.run_python(plan, engine.identity(), "raise OSError('broken')", "")
        runtime.stop(record_of(plan, str(host.attempt / "startup.log")))
