"""The keeper program: the same bytes each time, and it runs on the standard library alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import (
    keeper_path,
    keeper_program,
    keeper_sources,
    launchers,
)


def test_it_is_reproducible() -> None:
    first = keeper_program()
    keeper_sources.cache_clear()
    assert keeper_program() == first


def test_it_runs_without_any_package(tmp_path: Path) -> None:
    program = tmp_path / "keeper.pyz"
    program.write_bytes(keeper_program())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(program), "status"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, "No campaign holds this host.\n"), done.stderr


def test_it_is_small() -> None:
    # Put on a host once a version, and with it the gates.
    assert len(keeper_program()) < 250_000


def test_paths_hold_the_hash() -> None:
    assert keeper_path("/s").startswith("/s/programs/keeper-")
    assert launchers("/s")["llama_cpp"].startswith("/s/programs/llama_cpp_server-")
