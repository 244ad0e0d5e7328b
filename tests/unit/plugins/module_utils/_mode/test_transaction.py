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

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of
from ansible_collections.tandem.campaign.plugins.module_utils._mode.enter import planned_steps
from ansible_collections.tandem.campaign.plugins.module_utils._mode.giving_back import GivingBack
from ansible_collections.tandem.campaign.plugins.module_utils._mode.journal import read_journal
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_socket import ask_keeper
from ansible_collections.tandem.campaign.plugins.module_utils._mode.lock import lock_is_held, operation
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import (
    CampaignError,
    EvidenceError,
    RefusedError,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Admission,
    Health,
    Service,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench, free_port


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
    bench.declare(services={**bench.host.services, "router": router})
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
        "process",
        argv=("/nonexistent/server",),
        match=str(services["omni"].argv[1]) + f" {bench.host.services['omni'].argv[2]} omni$",
    )
    bench.declare(services=services)
    with pytest.raises(CampaignError, match=r"omni: argv\[0\] '/nonexistent/server'"):
        bench.enter()
    assert bench.running() == {"omni": True, "voice": True}
    assert not (bench.state_dir / "reservation").exists()


def test_something_else_at_the_health_address_is_refused(bench: Bench) -> None:
    bench.start("omni")
    services = {
        "omni": Service("process", argv=(sys.executable, "-c", "another"), health=bench.host.services["omni"].health)
    }
    original = bench.host
    bench.declare(services=services)
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
    program = bench.program
    text = program.read_text()
    program.write_text("import sys; sys.exit(9)")
    deadline = time.monotonic() + 30
    while lock_is_held(bench.host.lock_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    unresolved = json.loads((bench.state_dir / "reservation" / "unresolved.json").read_text())
    assert ["omni ended with 9" in problem for problem in unresolved["problems"]] == [True, False]
    final = json.loads((bench.state_dir / "reservation" / "final-state.json").read_text())
    assert (final["blocked_workloads"], len(final["unresolved"])) == (["omni", "voice"], 2)
    assert (bench.state_dir / "keeper.log").read_text().count("of 3 failed") == 3
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
    os.kill(answer["identity"]["pid"], signal.SIGSEGV)
    deadline = time.monotonic() + 5
    while (status := ask_keeper(bench.state_dir, {"op": "status"})["engine"])[
        "running"
    ] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert status["exit_text"] == "killed by SIGSEGV (a segmentation fault)"


def test_a_restore_unloads_the_engine(bench: Bench, tmp_path: Path) -> None:
    bench.start("omni")
    bench.enter()
    engine = ask_keeper(
        bench.state_dir, {"op": "start", "plan": to_document(plan("60")), "log": str(tmp_path / "log")}
    )["engine"]
    healed = bench.heal()
    assert healed.done[0].startswith("unloaded the engine")
    assert identity_of(engine["identity"]["pid"]) is None
    assert bench.running()["omni"]


def test_a_failed_start_on_restore_can_be_healed_later(bench: Bench) -> None:
    bench.start("omni", "voice")
    bench.enter()
    program = bench.program
    text = program.read_text()
    program.write_text("import sys; sys.exit(9)")
    with pytest.raises(
        CampaignError,
        match=r"not restored: service omni ended with 9 .* s after its start; start voice was left out, as start omni failed",
    ):
        bench.heal()
    assert (bench.state_dir / "reservation").is_dir()
    program.write_text(text)
    healed = bench.heal()
    assert healed.differences == ()
    assert bench.running() == {"omni": True, "voice": True}


def test_what_does_not_depend_on_a_failed_one_is_given_back(bench: Bench) -> None:
    bench.change("voice", needs=())
    bench.start("omni", "voice")
    bench.enter()
    program = bench.program
    text = program.read_text()
    broken = (
        f"def main() -> None:\n    if sys.argv[1] == {bench.host.services['omni'].argv[2]!r}:\n        sys.exit(9)\n"
    )
    program.write_text(text.replace("def main() -> None:\n", broken))
    with pytest.raises(CampaignError, match="not restored: service omni ended with 9"):
        bench.heal()
    assert bench.running() == {"omni": False, "voice": True}
    program.write_text(text)
    assert bench.heal().done == ("started omni",)


def test_a_service_that_goes_down_while_others_still_start_is_not_restored(bench: Bench) -> None:
    """omni is healthy at once and ends half a second later; voice takes a second and a half."""
    bench.change("voice", needs=(), argv=(*bench.host.services["voice"].argv, "--start-s", "1.5"))
    bench.start("omni", "voice")
    bench.enter()
    text = bench.program.read_text()
    omni = bench.host.services["omni"].argv[2]
    ends = f"def main() -> None:\n    if sys.argv[1] == {omni!r}:\n        threading.Timer(0.5, __import__('os')._exit, (1,)).start()\n"
    bench.program.write_text(text.replace("def main() -> None:\n", ends))
    with pytest.raises(CampaignError, match="not restored: omni went down again after its start: absent"):
        bench.heal()
    bench.program.write_text(text)
    assert bench.heal().differences == ()


def test_something_else_at_the_port_on_restore_is_not_taken_for_the_service(bench: Bench) -> None:
    bench.start("omni")
    bench.enter()
    port = bench.host.services["omni"].argv[2]
    with subprocess.Popen(
        [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", str(bench.folder)]
    ) as other:
        time.sleep(0.5)
        with pytest.raises(CampaignError, match="something else answers at"):
            bench.heal()
        other.kill()
    assert bench.heal().differences == ()


def test_a_service_that_is_not_healthy_is_not_stopped(bench: Bench) -> None:
    bench.start("omni")
    services = {
        "omni": Service(
            **{**vars(bench.host.services["omni"]), "health": Health(url=f"http://127.0.0.1:{free_port()}/")}
        )
    }
    original = bench.host
    bench.declare(services=services)
    with pytest.raises(RefusedError, match="omni runs, but is not healthy"):
        bench.enter()
    bench.host = original
    assert bench.running()["omni"]


def test_an_edited_reservation_is_refused_and_changes_nothing(bench: Bench) -> None:
    bench.start("omni")
    bench.enter()
    file = bench.state_dir / "reservation" / "reservation.json"
    text = file.read_text()
    file.write_text(text.replace('"stop_s": 5.0', '"stop_s": 6.0'))
    assert file.read_text() != text
    with pytest.raises(EvidenceError, match=r"was changed since it was written.*restore --trust-edited"):
        bench.heal()
    assert bench.running() == {"omni": False, "voice": False}
    done = subprocess.run(
        [sys.executable, str(bench.keeper), "restore", "--trust-edited", "--state-dir", str(bench.state_dir)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, bench.running()["omni"]) == (0, True), done.stdout


def test_a_stale_reservation_is_taken_over_when_told_to(bench: Bench) -> None:
    """Case I6: a lock and an unfinished transaction of a process that is gone, with its name on record."""
    bench.start("omni", "voice")
    bench.enter("run-0007")
    lock = Path(bench.host.lock_path)
    holder = json.loads(lock.read_text())
    os.kill(holder["pid"], signal.SIGKILL)
    time.sleep(0.2)
    lock.write_text(json.dumps({**holder, "boot": "00000000-0000-4000-8000-000000000000"}))
    with pytest.raises(RefusedError, match="campaign_takeover: true"):
        bench.enter("next")
    bench.enter("next", takeover=True)
    told = "\n".join(bench.told)
    assert "stale reservation of campaign 'run-0007'" in told
    assert "stale lock of campaign 'run-0007'" in told
    assert "left before the last boot: taken over" in told
    records = read_journal(bench.state_dir / "reservation" / "journal.jsonl")
    assert records[0].step == "stale-lock"
    assert bench.heal().differences == ()
    assert bench.running() == {"omni": True, "voice": True}
    assert lock.read_text() == ""


def test_a_living_keeper_is_never_taken_over(bench: Bench) -> None:
    bench.enter("first")
    with pytest.raises(RefusedError, match="already reserved by campaign 'first'"):
        bench.enter("second", takeover=True)


def test_a_restore_that_does_nothing_is_seen_in_the_difference(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutation: the reader shares nothing with the restore, so a broken one can't hide."""
    bench.start("omni")
    bench.enter()
    monkeypatch.setattr(GivingBack, "_undo", lambda _self, _step: None)
    monkeypatch.setattr(GivingBack, "_still_up", lambda _self, _steps: [])
    healed = bench.heal()
    assert healed.differences
    assert {item["path"].split("/")[2] for item in healed.differences} == {"omni"}
