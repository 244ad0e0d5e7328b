"""Secrets given to host and engine are nowhere to be seen: output at -vvv, log file, process lists, state folder, packet.

Reported as ansible/ansible#17911 and ansible/ansible#49388, and kin.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import (
    command_line,
    identity_of,
    pids,
    stop,
)

from .conftest import DemoHost

ROOT = Path(__file__).resolve().parents[2]
TOKEN, KEY, OTHER = "hf_SyntheticTokenAAAA1111", "key-SYNTHETIC-2222", "hf_SyntheticTokenEEEE8888"
#: What an engine prints of its own arguments and environment, as vLLM's listing of arguments that are not the default ones does.
TALKS = f"""#!/bin/bash
case "$*" in *llama_cpp_server*--ctx-size*)
  echo "non-default args: {{'api_key': ['{KEY}'], 'max_tokens': 2048, 'tokenizer': 'example-org/tiny'}}"
  echo "environment: HF_TOKEN={TOKEN}, Authorization: Bearer {KEY}"
  echo "the key is {KEY}" >&2;;
esac
exec -a "$0" PYTHON "$@"
"""


@pytest.fixture
def given(demo_host: DemoHost) -> Iterator[dict[str, Any]]:
    """An engine with a key that tells everything that it knows, and a service of the owner's with a token."""
    folder = demo_host.folder
    key, env, talks = folder / "engine.key", folder / "voice.env", folder / "talking" / "bin" / "python"
    key.write_text(f"{KEY}\n")
    env.write_text(f"HF_TOKEN={TOKEN}\n")
    # An environment like the real one, so that the engine is what it says it is.
    talks.parent.mkdir(parents=True)
    for name in ("pyvenv.cfg", "lib"):
        (folder / "talking" / name).symlink_to(folder / "venv" / name)
    talks.write_text(TALKS.replace("PYTHON", str(folder / "venv" / "bin" / "python")))
    talks.chmod(talks.stat().st_mode | stat.S_IXUSR)
    declared = DataLoader().load_from_file(str(ROOT / "inventories" / "demo" / "group_vars" / "workstations.yml"))
    argv = [sys.executable, "-c", "import time; time.sleep(600)", f"voice-{demo_host.port}"]
    voice = {
        "kind": "process",
        "argv": argv,
        "env_file": str(env),
        "cwd": str(folder),
        "log": str(folder / "voice.log"),
        "stop_s": 2,
        "roles": ["compute_a"],
    }
    running = subprocess.Popen(argv, env={**os.environ, "HF_TOKEN": TOKEN}, start_new_session=True)
    yield {
        "campaign_engine_key_file": str(key),
        "campaign_engine_environments": {"llama_cpp": {"python": str(talks)}},
        "campaign_services": {**declared["campaign_services"], "voice": voice},
        "campaign_modes": {"split": {"services": ["omni", "router", "voice"]}, "exclusive": {"services": []}},
    }
    running.kill()
    running.wait()
    for pid in pids():
        if argv[-1] in command_line(pid) and (identity := identity_of(pid)):
            stop(identity, 2.0)


@contextmanager
def watched_processes() -> Iterator[list[str]]:
    """Command lines that ever held one of the secrets, this test's own apart."""
    found: list[str] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = file.read_bytes().decode("utf-8", "replace")
                except OSError:
                    continue
                if secrets_in(line):
                    found.append(line.replace("\0", " "))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def secrets_in(text: str) -> list[str]:
    return [secret for secret in (TOKEN, KEY, OTHER) if secret in text]


def holding(folder: Path) -> list[str]:
    """Files that hold a secret."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [str(path.relative_to(folder)) for path in files if secrets_in(path.read_bytes().decode("utf-8", "replace"))]


def test_a_whole_campaign_at_vvv(demo_host: DemoHost, given: dict[str, Any]) -> None:
    log = demo_host.folder / "ansible.log"
    with watched_processes() as seen:
        done = demo_host.campaign(
            "-vvv", "--diff", environment={"ANSIBLE_LOG_PATH": str(log)}, campaign_recipes=["dies-at-load", "quick"], **given
        )  # fmt: skip
    output = done.stdout + done.stderr
    assert (done.returncode, demo_host.verdict()["restore"]["verdict"]) == (2, "passed"), output[-4000:]
    assert secrets_in(output) == []
    assert secrets_in(log.read_text()) == []
    assert seen == []
    assert holding(demo_host.folder / "campaigns") == []
    assert holding(demo_host.state_dir) == []
    # What isn't secret stays to be seen: why it ended, how, and settings that are only named alike.
    lanes = {lane["recipe"]: lane for lane in demo_host.verdict()["lanes"]}
    assert lanes["quick"]["outcome"].startswith("qualified"), lanes["quick"]
    assert "ended with exit status 2" in lanes["dies-at-load"]["reason"]
    startup = (demo_host.packet / "lanes" / "dies-at-load" / "startup.log").read_text()
    assert "unrecognized arguments" in startup
    assert "'max_tokens': 2048, 'tokenizer': 'example-org/tiny'" in startup
    assert "the key is <key>" in startup
    # The service runs again, with the token that its owner gave it.
    (voice,) = (pid for pid in pids() if f"voice-{demo_host.port}" in command_line(pid))
    assert f"HF_TOKEN={TOKEN}" in Path(f"/proc/{voice}/environ").read_text()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f'env = {{ HF_TOKEN = "{OTHER}" }}', "env.HF_TOKEN looks like a secret"),
        (f'args = [["--hf-token", "{OTHER}"]]', "args: --hf-token gives a secret"),
        (f'args = [["{OTHER}"]]', "is no group"),
        (f'colour = "{OTHER}"', "colour: no such key"),
    ],
)
def test_a_recipe_with_a_secret_is_refused_and_not_repeated(
    demo_host: DemoHost, tmp_path: Path, line: str, told: str
) -> None:
    text = (ROOT / "tests" / "fixtures" / "recipes" / "quick.toml").read_text()
    (tmp_path / "locks").symlink_to(ROOT / "tests" / "fixtures" / "recipes" / "locks")
    (tmp_path / "quick.toml").write_text(text.replace('args = [["--no-such-option", "1"]]', line))
    done = demo_host.campaign("-vvv", campaign_recipe_paths=[str(tmp_path)], campaign_recipes=["dies-at-load"])
    assert done.returncode == 2
    assert told in done.stdout
    assert secrets_in(done.stdout + done.stderr) == []
