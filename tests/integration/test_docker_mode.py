"""Services in a real Docker Engine of the tests' own: taken, given back, and every way in which that can go wrong."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.enter import planned_steps
from ansible_collections.tandem.campaign.plugins.module_utils._mode.journal import read_journal
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_socket import ask_keeper
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Admission, Health, Role, Service
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench, free_port
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import TINY, Daemon
from ansible_collections.tandem.campaign.tests.fakes.nvidia import UUIDS, Cards
from ansible_collections.tandem.campaign.tests.fakes.stalling_proxy import stalling_proxy
from ansible_collections.tandem.campaign.tests.faults.matrix import fault


@pytest.fixture
def host(tmp_path: Path, daemon: Daemon, cards: Cards) -> Iterator[Bench]:
    """primary, omni and voice as containers on two cards, all running; voice needs omni."""
    cards.use(400, 400)
    bench = Bench(tmp_path)
    ports = {name: free_port() for name in ("primary", "omni", "voice")}
    services = {
        name: Service(
            "container",
            name=name,
            roles=("compute_a",) if name == "primary" else ("compute_b",),
            needs=("omni",) if name == "voice" else (),
            stop_s=3.0,
            health=Health(url=f"http://127.0.0.1:{port}/health", start_s=20),
        )
        for name, port in ports.items()
    }
    roles = {"compute_a": Role(uuid=UUIDS[0]), "compute_b": Role(uuid=UUIDS[1])}
    bench.declare(services=services, docker_socket=daemon.socket, gpu_roles=roles, gpu_release_s=1.0)
    daemon.run_httpd("primary", ports["primary"], "--restart", "always")
    daemon.run_httpd("omni", ports["omni"], "--restart", "unless-stopped", "--gpus", f'"device={UUIDS[1]}"')
    daemon.run_httpd("voice", ports["voice"])
    wait_answers(*ports.values())
    yield bench
    if (bench.state_dir / "reservation").is_dir():
        bench.heal()
    daemon.remove_all()


def wait_answers(*ports: int) -> None:
    deadline = time.monotonic() + 20
    for port in ports:
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)


def ids(daemon: Daemon) -> dict[str, str]:
    return {
        line.split()[1]: line.split()[0]
        for line in daemon.cli("ps", "-a", "--format", "{{.ID}} {{.Names}}").splitlines()
    }


def remove_image_of(daemon: Daemon, name: str) -> None:
    """An engine only lets go of the image of a stopped container; started again it runs without one."""
    daemon.cli("stop", "--time", "1", name)
    daemon.cli("rmi", "--force", daemon.cli("inspect", "--format", "{{.Image}}", name))
    daemon.cli("start", name)


def policy(daemon: Daemon, name: str) -> str:
    return daemon.cli("inspect", "--format", "{{.HostConfig.RestartPolicy.Name}}", name)


def test_take_and_give_back(host: Bench, daemon: Daemon) -> None:
    before = ids(daemon)
    host.enter()
    assert host.running() == {"primary": False, "omni": False, "voice": False}
    assert [policy(daemon, name) for name in ("primary", "omni")] == ["no", "no"]
    healed = host.heal()
    assert (healed.differences, sorted(healed.done)) == ((), ["started omni", "started primary", "started voice"])
    assert host.running() == {"primary": True, "omni": True, "voice": True}
    assert [policy(daemon, name) for name in ("primary", "omni")] == ["always", "unless-stopped"]
    assert ids(daemon) == before
    assert not host.heal().changed


def test_what_was_stopped_stays_stopped(host: Bench, daemon: Daemon) -> None:
    daemon.cli("stop", "-t", "1", "primary")
    host.enter()
    assert host.heal().differences == ()
    assert daemon.status("primary") == "exited"


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda daemon: daemon.cli("pause", "omni"), "omni .*(is paused|runs, but is not healthy)"),
        (lambda daemon: remove_image_of(daemon, "vanishing"), "runs from image sha256:.*, which is gone"),
        (
            lambda daemon: daemon.run_httpd("fleeting", 38799, "--rm"),
            "container fleeting was started with --rm: stopping would remove it",
        ),
    ],
    ids=["paused", "image-vanished", "auto-remove"],
)
def test_what_could_not_be_put_back_is_refused_before_the_first_stop(
    host: Bench, daemon: Daemon, break_it: Any, message: str
) -> None:
    daemon.cli("commit", "omni", "vanishing:1")
    daemon.cli("run", "--detach", "--name", "vanishing", "--network", "none", "vanishing:1", "sleep", "600")
    break_it(daemon)
    more = {name: Service("container", name=name) for name in ("vanishing", "fleeting")}
    host.declare(services={**host.host.services, **more})
    before = daemon.cli("ps", "--format", "{{.Names}} {{.Status}}").count("Up")
    with pytest.raises(RefusedError, match=message):
        host.enter()
    with pytest.raises(RefusedError, match=message):
        planned_steps(host.host)
    assert daemon.cli("ps", "--format", "{{.Names}} {{.Status}}").count("Up") == before
    assert not (host.state_dir / "reservation").exists()


@fault("docker-restarted")
def test_an_engine_restart_in_the_middle_brings_nobody_back(host: Bench, daemon: Daemon) -> None:
    """Case I11: a policy of ``always`` would start the old owner again."""
    host.enter()
    daemon.restart()
    time.sleep(1)
    assert host.running() == {"primary": False, "omni": False, "voice": False}
    assert host.heal().differences == ()
    assert policy(daemon, "primary") == "always"


@pytest.mark.parametrize(
    "forward",
    [
        pytest.param(False, id="swallowed", marks=fault("docker-stop-swallowed")),
        pytest.param(True, id="heard", marks=fault("docker-stop-without-answer")),
    ],
)
def test_a_stop_that_does_not_return(host: Bench, daemon: Daemon, forward: bool) -> None:
    """Case I1: after the bound the service is stopped by force, and that is on record."""
    short = daemon.folder / "proxy.sock"
    with stalling_proxy(short, daemon.socket, r"POST .*/omni/stop", forward=forward) as swallowed:
        host.declare(docker_socket=str(short))
        start = time.monotonic()
        host.enter()
        took = time.monotonic() - start
        assert swallowed
        assert not host.running()["omni"]
        results = {
            record.step: record.data
            for record in read_journal(host.state_dir / "reservation" / "journal.jsonl")
            if record.kind == "result"
        }
        outcome = results["stop:omni"]["outcome"]
        assert outcome == (
            "terminated (the stop call did not return)"
            if forward
            else "stopped by force (the stop call did not return within 5 s)"
        )
        assert took < 3.0 + 2.0 + 4.0
        assert host.heal().differences == ()


@fault("docker-hangs")
def test_an_engine_that_hangs_altogether_is_a_fault_in_bounded_time(host: Bench, daemon: Daemon) -> None:
    short = daemon.folder / "proxy.sock"
    with stalling_proxy(short, daemon.socket, "."):
        host.declare(docker_socket=str(short))
        start = time.monotonic()
        with pytest.raises(CampaignError, match="can't look at container"):
            host.enter()
        assert time.monotonic() - start < 25
    host.declare(docker_socket=daemon.socket)
    assert host.running() == {"primary": True, "omni": True, "voice": True}


@fault("service-ends-after-start")
def test_a_service_that_ends_after_its_start_is_not_restored(host: Bench, daemon: Daemon) -> None:
    """Case I8: the start call succeeds, three seconds later the container has exited; the one its owner had stopped stays out of it."""
    daemon.cli("run", "--detach", "--name", "lane-a", "--network", "none", "--volume", f"{host.folder}:/d", TINY, "sh", "-c",
               "trap 'exit 0' TERM; if [ -e /d/dies ]; then sleep 3; echo gave up; exit 1; fi; while true; do sleep 0.1; done")  # fmt: skip
    daemon.cli("run", "--detach", "--name", "lane-b", "--network", "none", TINY, "true")
    lanes = {name: Service("container", name=name, stop_s=3.0) for name in ("lane-a", "lane-b")}
    host.declare(services={**host.host.services, **lanes})
    host.enter()
    (host.folder / "dies").touch()
    with pytest.raises(
        CampaignError,
        match=r"not restored: service lane-a exited with 1 3\.\d s after its start; its last output: gave up",
    ) as fault:
        host.heal()
    assert "lane-b" not in str(fault.value)
    assert daemon.status("lane-b") == "exited"
    (host.folder / "dies").unlink()
    assert host.heal().differences == ()


@fault("docker-image-vanished")
def test_an_image_that_is_removed_meanwhile(host: Bench, daemon: Daemon) -> None:
    """An engine with layers of its own starts the container nevertheless; one that can't would be named."""
    daemon.cli("commit", "voice", "vanishing:1")
    daemon.cli("run", "--detach", "--name", "vanishing", "--network", "none", "vanishing:1", "sleep", "600")
    host.declare(services={**host.host.services, "vanishing": Service("container", name="vanishing", stop_s=1.0)})
    host.enter()
    daemon.cli("rmi", "--force", daemon.cli("inspect", "--format", "{{.Image}}", "vanishing"))
    assert host.heal().differences == ()
    assert daemon.status("vanishing") == "running"


@fault("docker-container-removed")
def test_a_container_that_was_removed_meanwhile_is_named_with_the_way_out(host: Bench, daemon: Daemon) -> None:
    host.enter()
    daemon.cli("rm", "voice")
    with pytest.raises(
        CampaignError,
        match=r"not restored: service voice: container voice was removed meanwhile\. Create and start it as before",
    ):
        host.heal()
    assert (daemon.status("primary"), daemon.status("omni")) == ("running", "running")
    port = host.port("voice")
    daemon.run_httpd("voice", port)
    wait_answers(port)
    healed = host.heal()
    assert [item["path"] for item in healed.differences or ()] == ["/services/voice/id"]


@fault("docker-port-taken")
def test_a_taken_port_on_restore_is_named(host: Bench, daemon: Daemon) -> None:
    host.enter()
    port = host.port("primary")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen(1)
        host.change("primary", health=Health(url=f"http://127.0.0.1:{port}/health", start_s=3))
        host.reserve_as_declared()
        with pytest.raises(CampaignError, match=r"not restored: service primary .*"):
            host.heal()
        assert (daemon.status("omni"), daemon.status("voice")) == ("running", "running")
    assert host.heal().differences == ()


def test_a_foreign_container_on_a_declared_card_is_named_and_left_alone(host: Bench, daemon: Daemon) -> None:
    """Case I5. Its device is asked for by index, as people do."""
    daemon.cli(
        "run",
        "--detach",
        "--name",
        "someone-elses-notebook",
        "--network",
        "none",
        "--gpus",
        '"device=1"',
        TINY,
        "sleep",
        "600",
    )
    with pytest.raises(
        RefusedError, match=r"container someone-elses-notebook holds compute_b and is not in campaign_services"
    ):
        host.enter()
    assert host.running() == {"primary": True, "omni": True, "voice": True}
    host.declare(
        services={**host.host.services, "notebook": Service("container", name="someone-elses-notebook", stop_s=1.0)}
    )
    host.enter()
    assert daemon.status("someone-elses-notebook") == "exited"
    assert host.heal().differences == ()
    assert daemon.status("someone-elses-notebook") == "running"


def test_memory_that_is_not_freed_refuses_the_host(host: Bench, cards: Cards) -> None:
    """Case I3: the container is gone, its memory is not; no process list would tell."""
    cards.use(71000, 71000)
    with pytest.raises(
        CampaignError,
        match=r"compute_a 71000 MiB, compute_b 71000 MiB used, the threshold is 2500 MiB.*process list.*given back",
    ):
        host.enter()
    assert host.running() == {"primary": True, "omni": True, "voice": True}


def test_the_keeper_stores_who_breaks_in(host: Bench, daemon: Daemon) -> None:
    host.enter()
    daemon.cli("start", "voice")
    daemon.cli("run", "--detach", "--name", "late", "--network", "none", "--gpus", "all", TINY, "sleep", "600")
    file = host.state_dir / "reservation" / "isolation.jsonl"
    deadline = time.monotonic() + 15
    texts: set[str] = set()
    while time.monotonic() < deadline and len(texts) < 2:
        time.sleep(0.2)
        texts = {json.loads(line)["text"] for line in file.read_text().splitlines()} if file.exists() else set()
    assert any("voice runs again" in text for text in texts)
    assert any("container late holds compute_a, compute_b" in text for text in texts)
    daemon.cli("rm", "--force", "late")


def hung_engine() -> LaunchPlan:
    argv = ("/bin/sh", "-c", "trap '' TERM; while true; do sleep 0.1; done")
    return LaunchPlan(
        "r", "llama_cpp", "process", argv, {}, "r", "/s", "127.0.0.1", 1, 5.0, 1.0, 1, 1, {"compute_a": UUIDS[0]}
    )


def test_the_published_campaign_s_own_restore(host: Bench, daemon: Daemon) -> None:
    """The seeds' scenario: omni healthy, primary and voice absent, the router exited with 137; a model unload that hangs; one failed and
    one retried restore; at the end omni is the only owner, the router still exited, nothing unresolved."""
    daemon.cli("rm", "--force", "primary", "voice")
    daemon.cli("run", "--detach", "--name", "router", "--network", "none", TINY, "sleep", "600")
    daemon.cli("kill", "router")
    router = Service("container", name="router", admission=Admission("sglang", f"http://127.0.0.1:{free_port()}"))
    host.declare(services={**host.host.services, "router": router})
    host.enter()
    assert "router router was not running before (exited (137)): its admission is left alone" in host.told
    ask_keeper(
        host.state_dir, {"op": "start", "plan": to_document(hung_engine()), "log": str(host.folder / "engine.log")}
    )
    time.sleep(0.3)
    port = host.port("omni")
    with subprocess.Popen(["busybox", "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", str(host.folder)]) as squatter:
        time.sleep(0.2)
        host.change("omni", health=Health(url=f"http://127.0.0.1:{port}/health", start_s=2))
        host.reserve_as_declared()
        with pytest.raises(CampaignError, match="not restored: service omni"):
            host.heal()
        squatter.kill()
    failed = json.loads((host.state_dir / "reservation" / "final-state.json").read_text())
    assert (failed["blocked_workloads"], len(failed["unresolved"])) == (["omni"], 1)
    healed = host.heal()
    assert healed.differences == ()
    assert healed.folder is not None
    outcomes = [
        record.data.get("outcome")
        for record in read_journal(healed.folder / "journal.jsonl")
        if record.step == "engine-stopped"
    ]
    assert outcomes[0] == "killed"
    final = json.loads((healed.folder / "final-state.json").read_text())
    del final["schema"], final["identity"]
    absent = {"kind": "container", "state": "absent", "exit_code": None, "health": None}
    assert final == {
        "mode": "split",
        "exclusive_owner": None,
        "gpu_ownership": {"compute_a": [], "compute_b": ["omni"]},
        "services": {
            "primary": absent,
            "omni": {"kind": "container", "state": "running", "exit_code": None, "health": 200},
            "voice": absent,
            "router": {"kind": "container", "state": "exited", "exit_code": 137, "health": None},
        },
        "admissions": {},
        "unresolved": [],
        "blocked_workloads": [],
    }
