"""How a campaign is found and called: from playbooks/, and built, installed into an empty folder and run by its full name."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from .conftest import BIN, ROOT, DemoHost


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_literal_command_finds_the_workstation_inventory_and_never_the_demo() -> None:
    folder = ROOT / "playbooks"
    version = run([str(BIN / "ansible-playbook"), "--version"], folder).stdout
    assert f"config file = {folder / 'ansible.cfg'}" in version
    config = json.loads(run([str(BIN / "ansible-config"), "dump", "--only-changed", "--format", "json"], folder).stdout)
    found = {entry["name"]: entry["value"] for entry in config if "name" in entry}
    assert [str(Path(item).resolve()) for item in found["DEFAULT_HOST_LIST"]] == [
        str(ROOT / "inventories" / "workstation")
    ]
    hosts = run([str(BIN / "ansible-playbook"), "campaign.yml", "-l", "primary", "--list-hosts"], folder).stdout
    assert "primary" in hosts
    variables = json.loads(run([str(BIN / "ansible-inventory"), "--host", "primary"], folder).stdout)
    assert variables["ansible_host"] == "100.64.0.10"
    assert "llama_cpp" not in json.dumps(variables)
    assert "demo" not in json.dumps(variables)


def test_inspection_prints_the_five_plans_with_no_gpu_no_docker_and_no_host() -> None:
    done = run(
        [
            str(BIN / "ansible-playbook"),
            "playbooks/preflight.yml",
            "-i",
            "inventories/workstation",
            "-l",
            "primary",
            "--tags",
            "inspect",
        ],
        ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  plan      ") == 5
    assert done.stdout.count("--disable-custom-all-reduce\n") == 5
    for pin in (
        "98915d837c4e7c87ac8296d02e89de19b3207e6d",
        "sha256:e4f88a835143cd22aee2397a26ec6bb80b3a4a6fe0c882bcbc63822904766089",
    ):
        assert pin in done.stdout
    assert done.stdout.count("NCCL_CUMEM_HOST_ENABLE=0  (") == 5


def test_built_installed_and_run_by_its_full_name(demo_host: DemoHost, tmp_path: Path) -> None:
    built = run(
        [str(BIN / "ansible-galaxy"), "collection", "build", "--output-path", str(tmp_path / "built"), "."], ROOT
    )
    assert built.returncode == 0, built.stderr
    (archive,) = (tmp_path / "built").iterdir()
    assert archive.stat().st_size < 1_000_000
    installed = run(
        [str(BIN / "ansible-galaxy"), "collection", "install", str(archive), "-p", str(tmp_path / "collections")],
        tmp_path,
    )
    assert installed.returncode == 0, installed.stderr
    command = demo_host.arguments("tandem.campaign.campaign", campaign_id="installed")
    done = run(
        command,
        tmp_path,
        ANSIBLE_COLLECTIONS_PATH=str(tmp_path / "collections"),
        TANDEM_DEMO_DIR=str(demo_host.folder),
        HOME=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tmp_path}/collections/ansible_collections/tandem/campaign/roles" in done.stdout
    verdict = json.loads((demo_host.folder / "campaigns" / "installed" / "primary" / "verdict.json").read_text())
    assert verdict["outcome"] == "passed"
    assert verdict["identity"]["collection"] == {"version": "0.1.0", "revision": None}
    assert demo_host.is_as_the_owner_left_it()
