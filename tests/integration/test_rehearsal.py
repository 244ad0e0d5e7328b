"""The dress rehearsal: the five seed candidates as a whole campaign on a machine without GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import SEEDS

ROOT = Path(__file__).resolve().parents[2]
#: Between the demo inventory's ports and those of the test files' hosts.
PORT = 28190
OUTCOMES = [
    "qualified_with_caveats",
    "qualified",
    "qualified_with_caveats",
    "qualified_with_caveats",
    "qualified_with_caveats",
]


def play(folder: Path, **extra: Any) -> subprocess.CompletedProcess[str]:
    variables = {"campaign_port": PORT, "campaign_dir": str(folder / "campaigns"), **extra}
    return subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"), str(ROOT / "playbooks" / "campaign.yml"), "-i", str(ROOT / "inventories" / "rehearsal"),
            "-l", "primary", "-e", json.dumps(variables),
        ],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "TANDEM_REHEARSAL_DIR": str(folder)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one rehearsal, and what it printed."""
    folder = tmp_path_factory.mktemp("rehearsal")
    done = play(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def document(folder: Path, *parts: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "campaigns" / "rehearsal" / "primary").joinpath(*parts).read_text())
    return found


def test_five_lanes_as_the_published_campaign_ended_them(rehearsed: tuple[Path, str]) -> None:
    folder, _output = rehearsed
    verdict = document(folder, "verdict.json")
    assert [lane["outcome"] for lane in verdict["lanes"]] == OUTCOMES
    caveats = {lane["recipe"]: [caveat["id"] for caveat in lane["caveats"]] for lane in verdict["lanes"]}
    qwen, _nemotron, _laguna, deepseek, inkling = SEEDS
    assert {"off/responses_text", "off/responses_tool", "off/responses_result"} < set(caveats[qwen])
    assert {"fp8-kv-unscaled", "low/requests"} < set(caveats[deepseek])
    # Case E3: what the engine only warned of at its start stands with the lane's results in the report.
    _lead, section = (
        (folder / "campaigns" / "rehearsal" / "primary" / "report.md").read_text().split(f"### {deepseek}\n")
    )
    assert "quality/v3" in section
    assert "**fp8-kv-unscaled**: " in section
    assert "off/responses_text" in caveats[inkling]
    capacity = document(folder, "lanes", deepseek, "capacity-1.json")
    assert (capacity["completed"], capacity["requested"]["requests"]) == (11, 12)


def test_everything_says_that_it_is_simulated(rehearsed: tuple[Path, str]) -> None:
    folder, output = rehearsed
    packet = folder / "campaigns" / "rehearsal" / "primary"
    assert "nothing here is a measurement" in output
    assert "nothing here is a measurement" in (packet / "report.md").read_text()
    marked = [json.loads(file.read_text()).get("identity", {}).get("simulated") for file in packet.rglob("*.json")]
    assert marked
    assert set(marked) == {True}
    snapshot = document(folder, "lanes", next(iter(SEEDS)), "snapshot.json")
    assert "nothing is proven about this snapshot" in snapshot["snapshot"]["reason"]
    assert snapshot["identity"]["weights_sha256"] is None


def test_a_second_rehearsal_changes_nothing(rehearsed: tuple[Path, str]) -> None:
    folder, _output = rehearsed
    done = play(folder)
    assert done.returncode == 0, done.stdout
    assert "changed=0 " in done.stdout


def test_gpu_roles_are_refused(tmp_path: Path) -> None:
    done = play(tmp_path, campaign_gpu_roles={"compute_a": {"uuid": "GPU-1"}})
    assert done.returncode != 0
    assert "role 'compute_a' has to be kind: cpu" in done.stdout


def test_the_gates_are_shown_to_fail_before_anything_is_taken(tmp_path: Path) -> None:
    done = play(tmp_path, gate_controls=True, campaign_recipes=[next(iter(SEEDS))])
    assert done.returncode == 0, done.stdout + done.stderr
    found = document(tmp_path, "controls.json")
    assert (found["verdict"], found["schema"]) == ("passed", "tandem.controls/v1"), found["reason"]
    assert all(row["met"] for row in found["controls"])
    assert {row["protocol"] for row in found["controls"]} == {"functional/v1", "quality/v3", "capacity/v3"}
    assert done.stdout.index("controls 1/") < done.stdout.index("Take the GPU roles")
    report = (tmp_path / "campaigns" / "rehearsal" / "primary" / "report.md").read_text()
    assert f"passed**, {len(found['controls'])} of {len(found['controls'])} controls caught" in report
