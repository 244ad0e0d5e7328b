"""Faults by name that need no Docker Engine; those that do are in tests/integration/test_docker_mode.py."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of, stop
from ansible_collections.tandem.campaign.plugins.module_utils._mode.journal import read_journal
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_socket import ask_keeper
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan

from .conftest import FaultHost
from .matrix import fault

STOPPED = ("primary", "omni", "voice")


@pytest.fixture(autouse=True)
def long_lease(fault_host: FaultHost) -> None:
    fault_host.declare(lease_s=120.0)


def pid_of(host: FaultHost, name: str) -> int:
    process = host.hand(name).observe().process
    assert process is not None
    return process.pid


def keeper_pid(host: FaultHost) -> int:
    return int(json.loads(Path(host.host.lock_path).read_text())["pid"])


def kill(pid: int) -> None:
    identity = identity_of(pid)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while identity and identity_of(pid) == identity and time.monotonic() < deadline:
        time.sleep(0.01)


def engine_that_is_deaf() -> LaunchPlan:
    argv = ("/bin/sh", "-c", "trap '' TERM; while true; do sleep 0.1; done")
    return LaunchPlan("r", "llama_cpp", "process", argv, {}, "r", "/s", "127.0.0.1", 1, 5.0, 1.0, 1, 1, {"a": "cpu"})


def load(host: FaultHost) -> int:
    request = {"op": "start", "plan": to_document(engine_that_is_deaf()), "log": str(host.folder / "engine.log")}
    time.sleep(0.2)
    return int(ask_keeper(host.state_dir, request)["engine"]["identity"]["pid"])


@fault("keeper-killed")
def test_the_keeper_is_killed(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    kill(keeper_pid(fault_host))
    assert fault_host.restore_by_hand().returncode == 0
    fault_host.assert_as_before(before)


@fault("keeper-killed-with-engine")
def test_the_keeper_is_killed_while_its_engine_runs(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    engine = load(fault_host)
    kill(keeper_pid(fault_host))
    assert identity_of(engine) is not None
    assert fault_host.restore_by_hand().returncode == 0
    assert identity_of(engine) is None
    fault_host.assert_as_before(before)


@fault("engine-hangs")
def test_an_engine_that_does_not_end(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    engine = load(fault_host)
    healed = fault_host.heal()
    assert "killed" in healed.done[0]
    assert identity_of(engine) is None
    fault_host.assert_as_before(before)


@fault("start-fails")
def test_a_service_that_does_not_start(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    text = fault_host.program.read_text()
    broken = f"def main() -> None:\n    if sys.argv[1] == {fault_host.host.services['omni'].argv[2]!r}:\n        sys.exit(9)\n"
    fault_host.program.write_text(text.replace("def main() -> None:\n", broken))
    done = fault_host.restore_by_hand()
    fault_host.program.write_text(text)
    assert done.returncode == 1
    assert "not restored: service omni ended with 9" in done.stdout
    assert "start voice was left out, as start omni failed" in done.stdout
    assert fault_host.running() == {"primary": True, "omni": False, "voice": False, "router": True}
    assert fault_host.restore_by_hand().returncode == 0
    fault_host.assert_as_before(before)


@fault("port-taken")
def test_another_server_answers_at_a_service_s_address(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    port = fault_host.host.services["omni"].argv[2]
    argv = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", str(fault_host.folder)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        time.sleep(0.5)
        done = fault_host.restore_by_hand()
        other.kill()
    assert (done.returncode, "something else answers at" in done.stdout) == (1, True), done.stdout
    assert fault_host.restore_by_hand().returncode == 0
    fault_host.assert_as_before(before)


@fault("router-dead")
def test_the_router_dies_while_the_host_is_taken(fault_host: FaultHost, before: dict[str, Any]) -> None:
    """Killed right after the record of its first drain; the taker fails closed and gives back what it had taken."""
    router = pid_of(fault_host, "router")
    stopped = threading.Event()

    def killer() -> None:
        journal = fault_host.state_dir / "reservation" / "journal.jsonl"
        while not stopped.is_set():
            if journal.exists() and "intent" in journal.read_text():
                kill(router)
                return
            time.sleep(0.001)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        with pytest.raises(CampaignError, match="router router"):
            fault_host.enter()
    finally:
        stopped.set()
        thread.join()
    # Nobody but its owner starts a router that wasn't stopped by the campaign.
    fault_host.start("router")
    fault_host.restore_by_hand()
    fault_host.bring_up()
    fault_host.assert_as_before(before)


@fault("router-slow")
def test_the_router_hangs(fault_host: FaultHost, before: dict[str, Any]) -> None:
    router = pid_of(fault_host, "router")
    os.kill(router, signal.SIGSTOP)
    try:
        with pytest.raises(CampaignError, match=r"router router can't list its workers: no end within 10 s"):
            fault_host.enter()
    finally:
        os.kill(router, signal.SIGCONT)
    fault_host.assert_as_before(before)


@fault("router-refuses-key")
def test_the_router_refuses_the_key(fault_host: FaultHost, before: dict[str, Any]) -> None:
    key = fault_host.folder / "admin.key"
    text = key.read_text()
    key.write_text("another")
    try:
        with pytest.raises(CampaignError, match=r"router router can't list its workers: HTTP 401") as found:
            fault_host.enter()
    finally:
        key.write_text(text)
    assert "another" not in str(found.value)
    fault_host.assert_as_before(before)


@fault("router-dead-at-restore")
def test_the_router_is_dead_when_the_host_is_given_back(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    kill(pid_of(fault_host, "router"))
    done = fault_host.restore_by_hand()
    assert (done.returncode, "not restored: router router can't list its workers" in done.stdout) == (1, True), (
        done.stdout
    )
    assert fault_host.running() == {"primary": True, "omni": True, "voice": True, "router": False}
    fault_host.start("router")
    assert fault_host.restore_by_hand().returncode == 0
    fault_host.bring_up()
    fault_host.assert_as_before(before)


@contextmanager
def small_disk(host: FaultHost) -> Iterator[None]:
    """The state folder on a disk of 2 MiB, really."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    shutil.rmtree(host.state_dir, ignore_errors=True)
    host.state_dir.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(host.state_dir)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(host.state_dir)], check=True)


@fault("disk-full-at-journal")
def test_the_disk_is_full_at_the_journal(fault_host: FaultHost, before: dict[str, Any]) -> None:
    with small_disk(fault_host):
        done = fault_host.drive("enter", fill_at="intent stop:omni")
        assert (done.returncode, "no space left for" in done.stdout) == (1, True), done.stdout
        assert fault_host.running() == dict.fromkeys(fault_host.host.services, True)
        (fault_host.state_dir / "ballast").unlink()
        fault_host.restore_by_hand()
        fault_host.assert_as_before(before)


@fault("disk-full-at-evidence")
def test_the_disk_is_full_at_the_state_before(fault_host: FaultHost, before: dict[str, Any]) -> None:
    pids = {name: pid_of(fault_host, name) for name in fault_host.host.services}
    with small_disk(fault_host):
        done = fault_host.drive("enter", fill_at="evidence")
        assert (done.returncode, "no space left for" in done.stdout) == (1, True), done.stdout
        (fault_host.state_dir / "ballast").unlink()
        fault_host.restore_by_hand()
        fault_host.assert_as_before(before)
    assert {name: pid_of(fault_host, name) for name in fault_host.host.services} == pids


@fault("two-campaigns")
def test_several_campaigns_at_once(fault_host: FaultHost, before: dict[str, Any]) -> None:
    results: dict[str, str] = {}

    def take(name: str) -> None:
        done = fault_host.drive("enter", campaign=name)
        results[name] = "" if done.returncode == 0 else done.stdout

    threads = [threading.Thread(target=take, args=(f"c{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [name for name, text in results.items() if not text]
    losers = [text for text in results.values() if text]
    assert all(
        f"already reserved by campaign '{winner}'" in text or "reserved by campaign 'unknown'" in text
        for text in losers
    ), losers
    assert fault_host.heal().differences == ()
    fault_host.assert_as_before(before)


@fault("reboot")
def test_the_machine_was_started_anew(fault_host: FaultHost, before: dict[str, Any], tmp_path: Path) -> None:
    """All processes gone, another boot id: the restore runs where /proc shows one."""
    if os.geteuid() != 0:
        pytest.skip("showing another boot id needs root")
    fault_host.enter()
    kill(keeper_pid(fault_host))
    kill(pid_of(fault_host, "router"))
    other = tmp_path / "boot_id"
    other.write_text("00000000-1111-4222-8333-444444444444\n")
    restore = f"{sys.executable} {fault_host.keeper} restore --state-dir {fault_host.state_dir}"
    script = f"mount --bind {other} /proc/sys/kernel/random/boot_id && exec {restore}"
    fault_host.start("router")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    newest = sorted((fault_host.state_dir / "history").iterdir())[-1]
    assert len({record.boot for record in read_journal(newest / "journal.jsonl")}) == 2
    fault_host.bring_up()
    fault_host.assert_as_before(before)


@fault("reservation-edited")
def test_the_reservation_was_edited(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    file = fault_host.state_dir / "reservation" / "reservation.json"
    text = file.read_text()
    file.write_text(text.replace('"stop_s": 5.0', '"stop_s": 6.0', 1))
    done = fault_host.restore_by_hand()
    assert (done.returncode, "was changed since it was written" in done.stdout) == (1, True), done.stdout
    assert not any(fault_host.running()[name] for name in STOPPED)
    assert fault_host.restore_by_hand("--trust-edited").returncode == 0
    fault_host.assert_as_before(before)


@fault("journal-torn")
def test_the_last_line_of_the_journal_is_torn(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    kill(keeper_pid(fault_host))
    with (fault_host.state_dir / "reservation" / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"n":99,"at":"2026-')
    assert fault_host.restore_by_hand().returncode == 0
    fault_host.assert_as_before(before)


@fault("journal-damaged")
def test_an_earlier_line_of_the_journal_is_damaged(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    file = fault_host.state_dir / "reservation" / "journal.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'"stop:omni"', b'"stop:imno"', 1))
    done = fault_host.restore_by_hand()
    assert done.returncode == 1
    assert "is damaged, so it can't be known what was stopped. Start the services by hand" in done.stdout
    assert not any(fault_host.running()[name] for name in STOPPED)
    file.write_bytes(whole)
    assert fault_host.restore_by_hand().returncode == 0
    fault_host.assert_as_before(before)


@fault("lock-removed")
def test_the_lock_s_file_is_deleted(fault_host: FaultHost, before: dict[str, Any]) -> None:
    fault_host.enter()
    holder = keeper_pid(fault_host)
    Path(fault_host.host.lock_path).unlink()
    with pytest.raises(RefusedError, match="never gave it back"):
        fault_host.enter("second")
    assert fault_host.restore_by_hand().returncode == 0
    identity = identity_of(holder)
    if identity:
        stop(identity, 3.0)
    fault_host.assert_as_before(before)
