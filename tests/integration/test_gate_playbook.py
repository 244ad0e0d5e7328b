"""Bring your own endpoint: the gates against something that is served already. Played engines; no mode, no reservation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.tests.fakes.played.behaviour import Behaviour, read_behaviour
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import BEHAVIOURS, playing

ROOT = Path(__file__).resolve().parents[2]
PLAYED = replace(read_behaviour(BEHAVIOURS / "nemotron3-super-120b-a12b-nvfp4-tp2.toml"), time_scale=0.03)
SILENT = replace(PLAYED, reasoning=replace(PLAYED.reasoning, default=False))


def gate(folder: Path, url: str, *options: str, **extra: Any) -> subprocess.CompletedProcess[str]:
    variables = {"gate_url": url, "campaign_dir": str(folder), "campaign_state_dir": str(folder / "state"), **extra}
    return play(ROOT / "playbooks" / "gate.yml", variables, *options)


def play(playbook: Path, variables: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), str(playbook), "-e", json.dumps(variables), *options],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )  # fmt: skip


def judged(folder: Path, behaviour: Behaviour, **extra: Any) -> tuple[dict[str, Any], Path, str]:
    with playing(behaviour, 40000) as url:
        done = gate(folder, url, **extra)
    packet = folder / "gate" / "localhost"
    assert (packet / "verdict.json").is_file(), done.stdout + done.stderr
    return json.loads((packet / "verdict.json").read_text()), packet, done.stdout


def test_an_unknown_engine_is_judged_by_the_common_ground(tmp_path: Path) -> None:
    verdict, packet, output = judged(tmp_path, replace(SILENT, flavour="openai"), gate_context_tokens=40000)
    (lane,) = verdict["lanes"]
    assert (verdict["outcome"], lane["outcome"]) == ("passed", "qualified_with_caveats"), output
    assert [caveat["id"] for caveat in lane["caveats"]] == ["endpoint"]
    assert [gate["protocol"] for gate in lane["profiles"][0]["gates"]] == ["functional/v1", "quality/v3", "capacity/v3"]
    document = json.loads((packet / "lanes" / "played" / "endpoint.json").read_text())
    assert (document["endpoint"]["engine"], document["identity"]["weights_sha256"]) == ("openai", None)
    assert "nothing of its start is known here" in document["identity"]["unknown"]["weights_sha256"]
    assert "| openai of a version that it does not tell |" in (packet / "report.md").read_text()
    assert not (tmp_path / "state" / "reservation").exists()


def test_one_that_thinks_unasked_gets_budgets_and_is_timed_from_its_first_output(tmp_path: Path) -> None:
    verdict, packet, output = judged(tmp_path, PLAYED)
    assert verdict["outcome"] == "passed", output
    capacity = json.loads((packet / "lanes" / "played" / "capacity-1.json").read_text())
    assert (capacity["protocol"], capacity["decode_label"]) == ("capacity/v4-reasoning", "combined")


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    profile = {"name": "short", "functional": {"protocol": "functional/v1", "required": ["known_answer"]}}
    verdict, _packet, _output = judged(tmp_path, SILENT, gate_profile=profile)
    (gates,) = (profile["gates"] for profile in verdict["lanes"][0]["profiles"])
    assert [check["name"] for check in gates[0]["checks"]] == ["known_answer"]
    assert len(gates) == 1


def test_one_message_before_anything_is_asked(tmp_path: Path) -> None:
    with playing(SILENT, 4096) as url:
        wrong = {
            "gate_model 'other' is not served": gate(tmp_path, url, gate_model="other"),
            "capacity at 32768 tokens is beyond the 4096": gate(
                tmp_path, url, gate_recipe="nemotron3-super-120b-a12b-nvfp4-tp2"
            ),
            "an http:// address is needed": gate(tmp_path, url.replace("http:", "https:")),
            "nothing answers at": gate(tmp_path, "http://127.0.0.1:9"),
        }
    for text, done in wrong.items():
        assert done.returncode != 0, text
        assert text in done.stdout, done.stdout[-2000:]


def test_check_mode_only_looks(tmp_path: Path) -> None:
    with playing(SILENT, 40000) as url:
        done = gate(tmp_path, url, "--check")
    assert done.returncode == 0, done.stdout
    assert "changed=0" in done.stdout
    assert not (tmp_path / "gate").exists()
    assert not (tmp_path / "state").exists()


def test_the_gates_are_shown_to_fail_before_they_are_trusted(tmp_path: Path) -> None:
    profile = {"name": "short", "functional": {"protocol": "functional/v1", "required": ["known_answer"]}}
    _verdict, packet, output = judged(tmp_path, SILENT, gate_profile=profile, gate_controls=True)
    found = json.loads((packet / "controls.json").read_text())
    assert (found["verdict"], {row["protocol"] for row in found["controls"]}) == ("passed", {"functional/v1"})
    assert output.index("controls 1/1: functional/v1") < output.index("TASK [Run the gates]")
    assert f": passed**, {found['reason']}." in (packet / "report.md").read_text()


#: A lane whose one check takes any answer for the right one.
LOOSE = """
- hosts: localhost
  gather_facts: false
  tasks:
    - tandem.campaign.gate_controls:
        lanes:
          - protocols:
              functional/v1:
                kind: functional
                check: {loose: {probe: known_answer, prompt: "Hello?", pattern: ".", repeats: 2, max_tokens: 8}}
        state_dir: "{{ folder }}/state"
        packet: "{{ folder }}/packet"
        identity: {started_at: now}
"""


def test_a_check_that_can_not_fail_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "loose.yml").write_text(LOOSE)
    done = play(tmp_path / "loose.yml", {"folder": str(tmp_path)})
    assert done.returncode == 2, done.stdout
    assert "the gates can't be trusted on this host" in done.stdout
    assert "functional/v1 loose against loop: passed, failed was expected" in done.stdout
    assert json.loads((tmp_path / "packet" / "controls.json").read_text())["verdict"] == "failed"
