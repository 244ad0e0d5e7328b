"""ansible-playbook dies at every stage, by Ctrl-C, SIGTERM and SIGKILL: engine unloaded, services back, evidence kept, later run resumes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest
from ansible_collections.tandem.campaign.tests.faults.matrix import BY_ID, SIGNALS, injected

from .conftest import DemoHost

#: stage -> the line of output at which the signal is sent.
STAGES = {
    "snapshot": "Prove the snapshots",
    "taking": "TASK [tandem.campaign.campaign : Take the GPU roles]",
    "load": "| quick | starting llama_cpp",
    "functional": "functional 1/1",
    "capacity": "capacity 2/5",
    "unload": "qualified: every required gate passed",
    "restore": "| started omni",
}
CASES = [(stage, signal.Signals[name]) for stage in STAGES for name in SIGNALS if injected(BY_ID[f"{stage}-{name}"])]
LEASE_S = 3
#: The demo's services: omni may take 10 s to stop and a few to load; the engine's stop limit is 5 s.
STOP_LIMITS_S = 30


def interrupted(host: DemoHost, mark: str, number: signal.Signals, **extra: Any) -> str:
    """Runs a fresh campaign, sends the signal to ansible-playbook's whole group as a terminal would; returns its output."""
    process = host.start_campaign(campaign_fresh=True, campaign_lease_s=LEASE_S, **extra)
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if mark in line:
            break
    os.killpg(process.pid, number)
    try:
        output += process.communicate(timeout=20)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    assert mark in output, output
    return output


@pytest.mark.parametrize(("stage", "number"), CASES, ids=[f"{stage}-{number.name}" for stage, number in CASES])
def test_the_host_comes_back(demo_host: DemoHost, stage: str, number: signal.Signals) -> None:
    interrupted(demo_host, STAGES[stage], number)
    demo_host.wait_restored(LEASE_S + STOP_LIMITS_S)
    assert demo_host.is_as_the_owner_left_it(), demo_host.processes()
    newest = (
        sorted((demo_host.state_dir / "history").glob("*-quick"))[-1:] if stage not in ("snapshot", "restore") else []
    )
    for folder in newest:
        assert json.loads((folder / "state-diff.json").read_text())["count"] == 0


def test_measured_evidence_is_kept_and_a_later_run_goes_on(demo_host: DemoHost) -> None:
    interrupted(demo_host, STAGES["capacity"], signal.SIGKILL)
    demo_host.wait_restored(LEASE_S + STOP_LIMITS_S)
    done = demo_host.campaign()
    assert done.returncode == 0, done.stdout
    lane = demo_host.packet / "lanes" / "quick"
    attempts = [json.loads((folder / "attempt.json").read_text()) for folder in sorted((lane / "attempts").iterdir())]
    assert "interrupted" in [attempt["role"] for attempt in attempts]
    kept = [folder for folder in (lane / "attempts").iterdir() if (folder / "rows.jsonl").is_file()]
    rows = [json.loads(line) for folder in kept for line in (folder / "rows.jsonl").read_text().splitlines()[1:]]
    assert sum(row["check"] == "capacity-256" and not row["warmup"] for row in rows) >= 2
    assert demo_host.verdict()["outcome"] == "passed"
    assert list((demo_host.packet / "earlier").iterdir())
    again = demo_host.campaign()
    assert "changed=0" in again.stdout
