"""The independent reader: volatile fields don't count, everything else does; engines are told apart by their state folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._state.difference import diff_states
from ansible_collections.tandem.campaign.plugins.module_utils._state.reader import read_state
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Cache, HostDeclaration, Role

BEFORE: dict[str, Any] = {
    "services": {"omni": {"running": True, "pid": 7, "command_sha256": "a", "health": 200}},
    "admissions": {"router": [{"url": "u", "healthy": True}]},
    "engines": 0,
    "route_files": {"/etc/aliases.toml": "hash"},
}


def test_a_new_process_of_the_same_service_is_no_difference() -> None:
    after = {**BEFORE, "services": {"omni": {**BEFORE["services"]["omni"], "pid": 8}}}
    assert diff_states(BEFORE, after) == []


@pytest.mark.parametrize(
    ("after", "path"),
    [
        ({**BEFORE, "services": {"omni": {"running": False, "pid": None}}}, "/services/omni/command_sha256"),
        ({**BEFORE, "services": {"omni": {**BEFORE["services"]["omni"], "health": 503}}}, "/services/omni/health"),
        (
            {**BEFORE, "services": {"omni": {**BEFORE["services"]["omni"], "command_sha256": "b"}}},
            "/services/omni/command_sha256",
        ),
        ({**BEFORE, "admissions": {"router": []}}, "/admissions/router"),
        ({**BEFORE, "admissions": {"router": [{"url": "u", "healthy": False}]}}, "/admissions/router/0/healthy"),
        ({**BEFORE, "route_files": {"/etc/aliases.toml": "other"}}, "/route_files//etc/aliases.toml"),
        ({**BEFORE, "engines": 1}, "/engines"),
    ],
)
def test_everything_else_is_one(after: dict[str, Any], path: str) -> None:
    assert diff_states(BEFORE, after)[0]["path"] == path


@pytest.mark.parametrize(("started_in", "engines"), [("mine", 1), ("other", 0)])
def test_an_engine_is_known_by_its_host_s_state_folder(tmp_path: Path, started_in: str, engines: int) -> None:
    program = tmp_path / started_in / "programs" / "llama_cpp_server-0.py"
    program.parent.mkdir(parents=True)
    host = HostDeclaration({"a": Role(kind="cpu")}, {}, {}, Cache(path="/c"), str(tmp_path / "mine"), "/l", 60.0, 1)
    program.write_text("import time; print('up', flush=True); time.sleep(60)")
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert read_state(host)["engines"] == engines
        process.kill()
