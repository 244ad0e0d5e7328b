"""compare.yml and report.yml as a user calls them, on packets of played engines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet

ROOT = Path(__file__).resolve().parents[2]
NAME = "nemotron3-super-120b-a12b-nvfp4-tp2"


def play(name: str, folder: Path, *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), str(ROOT / "playbooks" / f"{name}.yml"), "-e", json.dumps(variables), *options],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PWD": str(folder)},
    )  # fmt: skip


def changed(output: str) -> int:
    return int(re.findall(r"changed=(\d+)", output)[-1])


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    first, second = (make_seed_packet(tmp_path_factory.mktemp(name), NAME).folder for name in ("august", "september"))
    return first, second


def test_two_packets(packets: tuple[Path, Path], tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "compare_before": str(packets[0]),
        "compare_after": str(packets[1]),
        "compare_thresholds": {"decode_tok_s": 0.9},
    }
    looked = play("compare", tmp_path, "--check", **given)
    assert (looked.returncode, changed(looked.stdout)) == (0, 1), looked.stdout
    assert list(tmp_path.iterdir()) == []
    done = play("compare", tmp_path, **given)
    assert done.returncode == 0, done.stdout
    assert "c/h against c/h: alike" in done.stdout
    assert json.loads((tmp_path / "comparison.json").read_text())["lanes"][0]["after"] == NAME
    assert "<svg" in (tmp_path / "comparison.html").read_text()
    assert changed(play("compare", tmp_path, **given).stdout) == 0


def test_what_it_may_not_come_to(packets: tuple[Path, Path], tmp_path: Path) -> None:
    done = play(
        "compare",
        tmp_path,
        compare_before=str(packets[0]),
        compare_after=str(packets[1]),
        compare_fail_on=["undeclared"],
    )
    assert done.returncode == 2
    assert "compared, and h: undeclared" in done.stdout
    assert (tmp_path / "comparison.md").is_file()


def test_bad_input_is_one_message_and_no_file(packets: tuple[Path, Path], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(packets[1], damaged)
    (damaged / "campaign.json").write_text("{}")
    for after, extra, told in (
        (tmp_path / "nowhere", {}, "is no packet and no campaign"),
        (packets[1], {"compare_thresholds": {"speed": 1}}, "there is no figure 'speed'"),
        (packets[1], {"compare_lanes": {"absent": NAME}}, "c/h has no 'absent'; it has"),
        (damaged, {}, "does not hold is not compared"),
    ):
        done = play(
            "compare",
            tmp_path,
            compare_before=str(packets[0]),
            compare_after=str(after),
            compare_dest=str(tmp_path / "out"),
            **extra,
        )
        assert done.returncode == 2
        assert told in done.stdout
        assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists()


def test_exports(packets: tuple[Path, Path], tmp_path: Path) -> None:
    campaigns = tmp_path / "campaigns"
    shutil.copytree(packets[0], campaigns / "c" / "localhost")
    given: dict[str, Any] = {
        "campaign_hosts": "localhost", "campaign_id": "c", "campaign_dir": str(campaigns), "campaign_report_formats": ["json", "csv", "junit", "prometheus"],
    }  # fmt: skip
    done = play("report", tmp_path, **given)
    assert done.returncode == 0, done.stdout
    made = sorted(path.name for path in (campaigns / "c" / "localhost" / "exports").iterdir())
    assert made == ["junit.xml", "results.json", "rows.csv", "tandem.prom"]
    assert changed(play("report", tmp_path, **given).stdout) == 0
    checked = play("packet_check", tmp_path, packet=str(campaigns / "c" / "localhost"))
    assert checked.returncode == 0, checked.stdout
