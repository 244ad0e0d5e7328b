"""Services of kind systemd, with a real systemd: process 1 of a container of the tests' own engine, its systemctl on the PATH."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Health, Service
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench, free_port
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import Daemon, private_daemon

MANAGER = "machine"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with private_daemon() as running:
        running.run_systemd(MANAGER)
        yield running


@pytest.fixture(scope="module")
def manager(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """That systemd's own systemctl is the one on the PATH: of these tests, and of the keeper that they start."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "systemctl"
    program.write_text(
        f'#!/bin/sh\nexec docker --host unix://{shlex.quote(daemon.socket)} exec {MANAGER} systemctl "$@"\n'
    )
    program.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{before}"
    yield daemon
    os.environ["PATH"] = before


def lay(daemon: Daemon, folder: Path, unit: str, text: str) -> None:
    file = folder / unit
    file.write_text(text)
    daemon.cli("cp", str(file), f"{MANAGER}:/etc/systemd/system/{unit}")
    systemctl(daemon, "daemon-reload")


def systemctl(daemon: Daemon, *arguments: str) -> str:
    return daemon.cli("exec", MANAGER, "systemctl", *arguments)


@pytest.fixture
def host(tmp_path: Path, manager: Daemon) -> Iterator[Bench]:
    """omni answers on a port; voice needs it, and ignores SIGTERM. Both would be started again by systemd if they died."""
    bench = Bench(tmp_path)
    port = free_port()
    lay(
        manager,
        tmp_path,
        "omni.service",
        f"[Service]\nExecStart=/usr/bin/busybox httpd -f -p 127.0.0.1:{port} -h /etc\nRestart=always\n",
    )
    deaf = "trap '' TERM; while true; do sleep 0.1; done"
    lay(
        manager,
        tmp_path,
        "voice.service",
        f'[Service]\nExecStart=/bin/sh -c "{deaf}"\nTimeoutStopSec=60\nRestart=always\n',
    )
    systemctl(manager, "start", "omni.service", "voice.service")
    services = {
        "omni": Service(
            "systemd", unit="omni.service", stop_s=5.0, health=Health(url=f"http://127.0.0.1:{port}/passwd", start_s=10)
        ),
        "voice": Service("systemd", unit="voice.service", stop_s=1.0, needs=("omni",)),
    }
    bench.declare(services=services)
    yield bench
    if (bench.state_dir / "reservation").is_dir():
        bench.heal()
    with contextlib.suppress(RuntimeError):
        systemctl(manager, "kill", "--signal=SIGKILL", "voice.service")
    systemctl(manager, "stop", "--no-block", "omni.service", "voice.service")


def test_take_and_give_back(host: Bench) -> None:
    host.enter()
    assert host.running() == {"omni": False, "voice": False}
    assert "stop:voice: killed" in host.told
    healed = host.heal()
    assert (healed.done, healed.differences) == (("started omni", "started voice"), ())
    assert host.running() == {"omni": True, "voice": True}
    assert not host.heal().changed


def test_what_was_inactive_stays_inactive(host: Bench, manager: Daemon) -> None:
    systemctl(manager, "kill", "--signal=SIGKILL", "voice.service")
    systemctl(manager, "stop", "voice.service")
    host.enter()
    assert host.heal().done == ("started omni",)
    assert host.running() == {"omni": True, "voice": False}


def test_a_unit_that_something_would_start_again_is_refused(host: Bench, manager: Daemon) -> None:
    lay(manager, host.folder, "omni.socket", f"[Socket]\nListenStream=127.0.0.1:{free_port()}\n")
    systemctl(manager, "stop", "omni.service")
    systemctl(manager, "start", "omni.socket", "omni.service")
    with pytest.raises(
        RefusedError, match=r"service omni: omni\.socket would start omni\.service again while it is out"
    ):
        host.enter()
    assert host.running() == {"omni": True, "voice": True}
    systemctl(manager, "stop", "omni.socket")
    manager.cli("exec", MANAGER, "rm", "/etc/systemd/system/omni.socket")
    systemctl(manager, "daemon-reload")


def test_a_unit_that_cannot_start_again_is_named(host: Bench, manager: Daemon) -> None:
    host.enter()
    lay(manager, host.folder, "omni.service", "[Service]\nExecStart=/bin/false\n")
    with pytest.raises(
        CampaignError,
        match=r"not restored: service omni is failed \(exit-code, exit 1; journalctl -u omni\.service tells more\)",
    ):
        host.heal()
    port = host.port("omni")
    lay(
        manager,
        host.folder,
        "omni.service",
        f"[Service]\nExecStart=/usr/bin/busybox httpd -f -p 127.0.0.1:{port} -h /etc\nRestart=always\n",
    )
    assert host.heal().differences == ()


def test_a_unit_that_is_not_there_is_absent(host: Bench) -> None:
    host.declare(services={**host.host.services, "ghost": Service("systemd", unit="ghost.service")})
    assert host.hand("ghost").observe().describe() == "absent"
    host.enter()
    assert host.heal().differences == ()
