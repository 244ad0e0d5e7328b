"""A whole campaign on a host: run, run again, check mode, faults of the candidate, resume, restore."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import command_line, pids
from ansible_collections.tandem.campaign.plugins.plugin_utils.packets import Packet

from .conftest import ROOT, DemoHost


def changed(output: str) -> int:
    found = re.search(r"primary\s+: ok=\d+\s+changed=(\d+)", output)
    assert found, output
    return int(found[1])


def test_check_mode_prints_every_plan_and_touches_nothing(demo_host: DemoHost) -> None:
    before = demo_host.processes()
    done = demo_host.campaign("--check", "--diff")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("  start     ") == 1
    assert done.stdout.count("  lane key  ") == 1
    assert "close admission of omni at router (undo: readmit omni)" in done.stdout
    assert "stop omni (undo: start omni)" in done.stdout
    assert demo_host.processes() == before
    assert not demo_host.packet.exists()
    assert not list(demo_host.state_dir.glob("*")) or not (demo_host.state_dir / "reservation").exists()


def test_first_run(demo_host: DemoHost) -> None:
    before = demo_host.processes()
    done = demo_host.campaign()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"quick\s+qualified\s+passed\s+-\s+passed", done.stdout)
    assert "capacity 5/5, first output p50" in done.stdout
    assert f"Report: {demo_host.packet}/report.md" in done.stdout
    assert demo_host.is_as_the_owner_left_it()
    # The router was only drained: it is the same process. omni was started again.
    assert demo_host.processes()["router"] == before["router"]
    assert demo_host.processes()["omni"] != before["omni"]
    verdict = demo_host.verdict()
    assert (verdict["outcome"], verdict["restore"]["diff_count"], verdict["promotion"]) == ("passed", 0, "none")


def test_second_run_changes_nothing_and_takes_no_lock(demo_host: DemoHost) -> None:
    before = demo_host.processes()
    history = {path.name: path.stat().st_mtime_ns for path in demo_host.packet.rglob("*")}
    lock = (demo_host.folder / "campaign.lock").stat().st_mtime_ns
    done = demo_host.campaign()
    assert done.returncode == 0, done.stdout
    assert changed(done.stdout) == 0
    assert "qualified" in done.stdout
    assert demo_host.processes() == before
    assert {path.name: path.stat().st_mtime_ns for path in demo_host.packet.rglob("*")} == history
    assert (demo_host.folder / "campaign.lock").stat().st_mtime_ns == lock


def test_preflight_writes_the_brief_once_and_it_is_no_evidence(demo_host: DemoHost) -> None:
    preflight = str(ROOT / "playbooks" / "preflight.yml")
    brief = demo_host.packet / "brief.md"
    dry = demo_host.play(preflight, "--check")
    assert dry.returncode == 0, dry.stdout + dry.stderr
    assert not brief.exists()
    done = demo_host.play(preflight)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Brief: {brief}" in done.stdout
    text = brief.read_text(encoding="utf-8")
    assert "The host's facts were read from it." in text
    assert "complete: its verdict is in the packet" in text
    assert changed(demo_host.play(preflight).stdout) == 0
    assert Packet(demo_host.packet).check() == []


def test_a_packet_that_was_touched_runs_its_lane_again(demo_host: DemoHost) -> None:
    rows = demo_host.packet / "lanes" / "quick" / "rows.jsonl"
    rows.write_text(rows.read_text().replace('"status":200', '"status":201', 1))
    done = demo_host.campaign()
    assert done.returncode == 0, done.stdout
    assert changed(done.stdout) > 0
    assert len(list((demo_host.packet / "lanes" / "quick" / "attempts").iterdir())) == 1
    assert len(list((demo_host.packet / "earlier").iterdir())) == 1


def test_an_engine_that_dies_at_load_is_infrastructure_with_its_last_lines(demo_host: DemoHost) -> None:
    done = demo_host.campaign(campaign_recipes=["dies-at-load", "quick"])
    assert done.returncode == 2
    assert "unrecognized arguments: --no-such-option 1" in done.stdout
    lanes = {lane["recipe"]: lane for lane in demo_host.verdict()["lanes"]}
    assert lanes["dies-at-load"]["outcome"] == "infrastructure"
    assert "ended with exit status 2" in lanes["dies-at-load"]["reason"]
    assert lanes["quick"]["outcome"] == "qualified"
    assert demo_host.verdict()["restore"]["verdict"] == "passed"
    assert demo_host.is_as_the_owner_left_it()
    engine = json.loads((demo_host.packet / "lanes" / "dies-at-load" / "engine.json").read_text())
    assert engine["ready"] is False
    assert engine["failure"]["log_tail"]
    (ticket,) = (demo_host.packet.parent / ".tickets").glob("*.md")
    assert "unrecognized arguments" in ticket.read_text()
    assert "**Status**: open" in ticket.read_text()


def test_a_service_that_comes_back_makes_the_timing_inconclusive(demo_host: DemoHost) -> None:
    """Somebody starts omni again during the lane; the keeper sees it, and the figures are not published as a result."""
    (omni,) = demo_host.processes()["omni"]
    arguments = command_line(omni)
    process = demo_host.start_campaign(campaign_id="intruded", campaign_lease_s=30)
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if "building prompt 1/" in line:
            subprocess.Popen(
                arguments, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
            )
    assert process.wait(60) == 2, output
    assert "the host was not ours alone: omni runs again" in output
    verdict = json.loads((demo_host.folder / "campaigns" / "intruded" / "primary" / "verdict.json").read_text())
    assert verdict["lanes"][0]["outcome"] == "inconclusive"
    assert verdict["restore"]["verdict"] == "passed"
    assert demo_host.is_as_the_owner_left_it()


def test_gates_that_are_killed_end_their_lane_and_not_the_host(demo_host: DemoHost) -> None:
    """The program that runs them dies; nobody is left to write a result, and the controller must not wait for one."""
    process = demo_host.start_campaign(campaign_id="killed", campaign_lease_s=60)
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if "building prompt 1/" in line:
            for pid in list(pids()):
                if re.search(
                    rf"/keeper-\S+ call --state-dir {re.escape(str(demo_host.folder))}", " ".join(command_line(pid))
                ):
                    os.kill(pid, signal.SIGKILL)
    assert process.wait(60) == 2, output
    assert re.search(r"the keeper's program \(pid \d+\) ended without an answer: it was killed", output), output
    verdict = json.loads((demo_host.folder / "campaigns" / "killed" / "primary" / "verdict.json").read_text())
    assert (verdict["lanes"][0]["outcome"], verdict["restore"]["verdict"]) == ("infrastructure", "passed")
    assert demo_host.is_as_the_owner_left_it()


def test_restore_of_a_restored_host_changes_nothing(demo_host: DemoHost) -> None:
    done = demo_host.play(str(ROOT / "playbooks" / "restore.yml"))
    assert done.returncode == 0, done.stdout
    assert changed(done.stdout) == 0
    assert "Nothing had to be given back." in done.stdout


def test_a_killed_keeper_and_restore_yml(demo_host: DemoHost) -> None:
    """Keeper and controller die at once: the host stays taken until restore.yml, and a new campaign says so."""
    process = demo_host.start_campaign(campaign_fresh=True, campaign_lease_s=30)
    assert process.stdout is not None
    for line in process.stdout:
        if "functional 1/1" in line:
            break
    os.killpg(process.pid, signal.SIGKILL)
    (keeper,) = demo_host.processes()["keeper"]
    os.kill(keeper, signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    assert demo_host.processes()["engine"]
    refused = demo_host.campaign(campaign_port=demo_host.port + 3)
    assert refused.returncode == 2
    assert "campaign 'quick' took this host at" in refused.stdout
    assert "ansible-playbook tandem.campaign.restore -l" in refused.stdout
    done = demo_host.play(str(ROOT / "playbooks" / "restore.yml"))
    assert done.returncode == 0, done.stdout
    assert changed(done.stdout) == 1
    assert demo_host.is_as_the_owner_left_it()


def test_the_report_can_be_made_again(demo_host: DemoHost) -> None:
    names = (
        "report.md",
        "report.html",
        "charts/timeline.svg",
        "published/report.html",
        "published/charts/timeline.svg",
    )
    files = [demo_host.packet / name for name in names]
    # The test before this one left a run that was never judged; its events came behind the report.
    again = str(ROOT / "playbooks" / "report.yml")
    demo_host.play(again)
    texts = [file.read_text() for file in files]
    for file in files:
        file.unlink()
    looked = demo_host.play(again, "--check", "--diff")
    assert changed(looked.stdout) == 1
    assert "+# Campaign " in looked.stdout
    assert not files[0].exists()
    done = demo_host.play(again)
    assert done.returncode == 0, done.stdout
    for name, file, text in zip(names, files, texts, strict=True):
        assert file.read_text().splitlines() == text.splitlines(), name
    assert changed(demo_host.play(again).stdout) == 0
