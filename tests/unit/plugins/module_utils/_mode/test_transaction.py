"""Taking and giving back, with real processes, a real keeper and real kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of, stop
from ansible_collections.tandem.campaign.plugins.module_utils._mode.enter import Request, enter, planned_steps
from ansible_collections.tandem.campaign.plugins.module_utils._mode.heal import Healed, heal, wait_released
from ansible_collections.tandem.campaign.plugins.module_utils._mode.journal import read_journal
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper import ask_keeper
from ansible_collections.tandem.campaign.plugins.module_utils._mode.lock import lock_is_held, operation
from ansible_collections.tandem.campaign.plugins.module_utils._mode.services import ProcessService
from ansible_collections.tandem.campaign.plugins.module_utils._mode.transaction import Transaction
from ansible_collections.tandem.campaign.plugins.module_utils._state.reader import diff_states, read_state
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Admission,
    Cache,
    Health,
    HostDeclaration,
    Mode,
    Role,
    Service,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import keeper_program
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

IDENTITY = identity()
SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Bench:
    """A host of one's own: two services, a state folder, a lock."""

    def __init__(self, folder: Path, lease_s: float = 60.0) -> None:
        self.state_dir = folder / "state"
        program = folder / "server.py"
        program.write_text(SERVER)
        self.keeper = folder / "keeper.pyz"
        self.keeper.write_bytes(keeper_program())
        ports = {name: free_port() for name in ("omni", "voice")}
        services = {
            name: Service(
                "process",
                argv=(sys.executable, str(program), str(port)),
                health=Health(url=f"http://127.0.0.1:{port}/", start_s=20),
                needs=("omni",) if name == "voice" else (),
                stop_s=5.0,
            )
            for name, port in ports.items()
        }
        self.host = HostDeclaration(
            {"a": Role(kind="cpu")},
            services,
            {"exclusive": Mode()},
            Cache(path="/c"),
            str(self.state_dir),
            str(folder / "lock"),
            lease_s,
            free_port(),
        )

    def hand(self, name: str) -> ProcessService:
        return ProcessService(name, self.host.services[name])

    def running(self) -> dict[str, bool]:
        return {name: self.hand(name).observe().running for name in self.host.services}

    def enter(self) -> list[str]:
        request = Request("c", self.host, IDENTITY, str(self.keeper))
        return enter(self.state_dir, request, read_state, diff_states, lambda _text: None)[0]

    def heal(self) -> Healed:
        healed = heal(self.state_dir, "test", read_state, diff_states)
        wait_released(healed)
        return healed

    def start(self, *names: str) -> None:
        for name in names:
            self.hand(name).start()

    def clear(self) -> None:
        if (self.state_dir / "reservation").is_dir():
            self.heal()
        for name in self.host.services:
            process = self.hand(name).observe().process
            if process:
                stop(process, 5.0)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    host = Bench(tmp_path)
    yield host
    host.clear()


def test_take_and_give_back(bench: Bench) -> None:
    bench.start("omni", "voice")
    assert planned_steps(bench.host) == ["stop voice (undo: start voice)", "stop omni (undo: start omni)"]
    assert bench.running() == {"omni": True, "voice": True}
    assert len(bench.enter()) == 2
    assert bench.running() == {"omni": False, "voice": False}
    assert lock_is_held(bench.host.lock_path)
    healed = bench.heal()
    assert healed.changed
    assert healed.differences == ()
    assert bench.running() == {"omni": True, "voice": True}
    assert not lock_is_held(bench.host.lock_path)
    assert not bench.heal().changed


def test_prior_state_is_restored_and_not_the_mode_list(bench: Bench) -> None:
    bench.start("omni")
    bench.enter()
    healed = bench.heal()
    assert healed.done == ("started omni",)
    assert bench.running() == {"omni": True, "voice": False}


def test_a_second_campaign_is_refused_with_who_and_since_when(bench: Bench) -> None:
    bench.enter()
    with pytest.raises(RefusedError, match=r"reserved by campaign 'c' since 20.*To look: cat "):
        bench.enter()
    with pytest.raises(RefusedError, match="reserved by campaign 'c'"):
        planned_steps(bench.host)


@pytest.mark.parametrize("default", [True, False])
def test_a_router_that_does_not_run(bench: Bench, default: bool) -> None:
    """A default one is skipped by its process, not by a refused connection; an explicit one fails closed."""
    router = Service(
        "process",
        argv=(sys.executable, "-c", "router"),
        admission=Admission("sglang", f"http://127.0.0.1:{free_port()}", default=default),
    )
    bench.host = HostDeclaration(**{**vars(bench.host), "services": {**bench.host.services, "router": router}})
    bench.start("omni")
    if default:
        bench.enter()
        assert bench.heal().done == ("started omni",)
    else:
        with pytest.raises(RefusedError, match="router router was named explicitly"):
            bench.enter()
        assert bench.running()["omni"]


def test_what_could_not_be_restored_is_refused_before_the_first_stop(bench: Bench) -> None:
    bench.start("omni", "voice")
    services = dict(bench.host.services)
    services["omni"] = Service(
        "process", argv=("/nonexistent/server",), match=str(services["omni"].argv[1]) + f" {services['omni'].argv[2]}$"
    )
    bench.host = HostDeclaration(**{**vars(bench.host), "services": services})
    with pytest.raises(CampaignError, match=r"omni: argv\[0\] '/nonexistent/server'"):
        bench.enter()
    assert bench.running() == {"omni": True, "voice": True}
    assert not (bench.state_dir / "reservation").exists()


def test_something_else_at_the_health_address_is_refused(bench: Bench) -> None:
    bench.start("omni")
    services = {
        "omni": Service("process", argv=(sys.executable, "-c", "another"), health=bench.host.services["omni"].health)
    }
    original, bench.host = bench.host, HostDeclaration(**{**vars(bench.host), "services": services})
    with pytest.raises(CampaignError, match="What runs differs from its declaration"):
        bench.enter()
    bench.host = original
    assert bench.running()["omni"]


def test_the_keeper_gives_back_when_its_controller_is_silent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lease_s=1.0)
    bench.start("omni", "voice")
    bench.enter()
    deadline = time.monotonic() + 20
    while (bench.state_dir / "reservation").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert bench.running() == {"omni": True, "voice": True}
    (history,) = (bench.state_dir / "history").iterdir()
    assert "no sign of the controller" in json.loads((history / "restored.json").read_text())["reason"]
    assert json.loads((history / "state-diff.json").read_text())["count"] == 0
    bench.clear()


def test_a_keeper_that_can_t_give_back_says_so_and_lets_go(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lease_s=1.0)
    bench.start("omni", "voice")
    bench.enter()
    program = Path(str(bench.host.services["omni"].argv[1]))
    text = program.read_text()
    program.write_text("import sys; sys.exit(9)")
    deadline = time.monotonic() + 30
    while lock_is_held(bench.host.lock_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    unresolved = json.loads((bench.state_dir / "reservation" / "unresolved.json").read_text())
    assert (unresolved["attempts"], "omni ended with 9" in unresolved["reason"]) == (3, True)
    with pytest.raises(RefusedError, match="never gave it back"):
        bench.enter()
    program.write_text(text)
    assert bench.heal().differences == ()
    assert bench.running() == {"omni": True, "voice": True}
    bench.clear()


def test_a_killed_keeper_leaves_a_host_that_a_person_can_heal(bench: Bench) -> None:
    bench.start("omni", "voice")
    bench.enter()
    holder = json.loads(Path(bench.host.lock_path).read_text())
    os.kill(holder["pid"], signal.SIGKILL)
    time.sleep(0.2)
    assert not lock_is_held(bench.host.lock_path)
    with pytest.raises(
        RefusedError, match=r"never gave it back. Heal it first: ansible-playbook tandem.campaign.restore"
    ):
        bench.enter()
    done = subprocess.run(
        [sys.executable, str(bench.keeper), "restore", "--state-dir", str(bench.state_dir)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "Differences to the state before: 0" in done.stdout
    assert bench.running() == {"omni": True, "voice": True}
    again = subprocess.run(
        [sys.executable, str(bench.keeper), "restore", "--state-dir", str(bench.state_dir)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (again.returncode, again.stdout) == (0, "Nothing to restore: no campaign holds this host.\n")


def test_who_waits_for_a_restore_that_ends_has_nothing_to_do(tmp_path: Path) -> None:
    """The folder moves away under the waiting process; it must not make it anew."""
    folder = tmp_path / "reservation"
    folder.mkdir()
    inside = threading.Event()

    def first() -> None:
        with operation(folder, "first") as held:
            assert held
            inside.set()
            time.sleep(0.3)
            folder.rename(tmp_path / "resolved")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(5)
    with operation(folder, "second") as held:
        assert held is False
    thread.join()
    assert not folder.exists()


def plan(seconds: str) -> LaunchPlan:
    argv = (sys.executable, "-c", f"import time; print('up', flush=True); time.sleep({seconds})")
    return LaunchPlan(
        "r", "llama_cpp", "process", argv, {"A": "1"}, "r", "/s", "127.0.0.1", 1, 5.0, 2.0, 1, 1, {"a": "cpu"}
    )


def test_the_keeper_is_the_engine_s_parent_and_knows_how_it_ended(bench: Bench, tmp_path: Path) -> None:
    bench.enter()
    log = tmp_path / "log"
    answer = ask_keeper(bench.state_dir, {"op": "start", "plan": to_document(plan("60")), "log": str(log)})["engine"]
    assert answer["running"]
    with pytest.raises(CampaignError, match="an engine already runs here"):
        ask_keeper(bench.state_dir, {"op": "start", "plan": to_document(plan("61")), "log": str(log)})
    os.kill(answer["process"]["pid"], signal.SIGSEGV)
    deadline = time.monotonic() + 5
    while (status := ask_keeper(bench.state_dir, {"op": "status"})["engine"])[
        "running"
    ] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert status["exit_text"] == "killed by SIGSEGV"


def test_a_restore_unloads_the_engine(bench: Bench, tmp_path: Path) -> None:
    bench.start("omni")
    bench.enter()
    engine = ask_keeper(
        bench.state_dir, {"op": "start", "plan": to_document(plan("60")), "log": str(tmp_path / "log")}
    )["engine"]
    healed = bench.heal()
    assert healed.done[0].startswith("unloaded the engine")
    assert identity_of(engine["process"]["pid"]) is None
    assert bench.running()["omni"]


def test_a_failed_start_on_restore_can_be_healed_later(bench: Bench) -> None:
    bench.start("omni", "voice")
    bench.enter()
    program = Path(str(bench.host.services["omni"].argv[1]))
    text = program.read_text()
    program.write_text("import sys; sys.exit(9)")
    with pytest.raises(CampaignError, match="service omni ended with 9 right after its start"):
        bench.heal()
    assert (bench.state_dir / "reservation").is_dir()
    program.write_text(text)
    healed = bench.heal()
    assert healed.differences == ()
    assert bench.running() == {"omni": True, "voice": True}


@pytest.mark.parametrize("point", range(1, 7))
def test_death_at_every_record_of_entering_is_healed(bench: Bench, monkeypatch: pytest.MonkeyPatch, point: int) -> None:
    """The journal's writer dies right after its n-th record; what was begun is undone, from the journal alone."""
    bench.start("omni", "voice")
    real = Transaction.__post_init__

    class Died(BaseException):
        pass

    def dying(self: Transaction) -> None:
        real(self)
        append, count = self.journal.append, [0]

        def counted(*args: Any, **data: Any) -> None:
            append(*args, **data)
            count[0] += 1
            if count[0] == point:
                raise Died

        monkeypatch.setattr(self.journal, "append", counted)

    monkeypatch.setattr(Transaction, "__post_init__", dying)
    with pytest.raises(Died):
        bench.enter()
    monkeypatch.setattr(Transaction, "__post_init__", real)
    assert len(read_journal(bench.state_dir / "reservation" / "journal.jsonl")) == point
    assert bench.heal().differences == ()
    assert bench.running() == {"omni": True, "voice": True}


def test_a_restore_that_does_nothing_is_seen_in_the_difference(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutation: the reader shares nothing with the restore, so a broken one can't hide."""
    bench.start("omni")
    bench.enter()
    monkeypatch.setattr(Transaction, "_undo", lambda _self, _step: None)
    healed = bench.heal()
    assert healed.differences
    assert {item["path"].split("/")[2] for item in healed.differences} == {"omni"}
