"""mode.yml and restore.yml as a person runs them, with services in containers; and another engine on the machine stays as it was."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.service import is_healthy
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Health
from ansible_collections.tandem.campaign.tests.fakes.bench import free_port
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import Daemon, private_daemon

from .conftest import BIN, ROOT


@pytest.fixture(scope="module")
def users() -> Iterator[Daemon]:
    """An engine that plays the owner's own: it was there before the tests' engine, with a container of its own."""
    with private_daemon() as engine:
        engine.run_httpd("owners", free_port())
        yield engine


def firewall() -> str:
    """The machine's rules, without counters and times; empty where there are no tables."""
    done = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False)
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("#", ":")))


def containers(engine: Daemon) -> list[dict[str, Any]]:
    found = json.loads(engine.cli("inspect", *engine.cli("ps", "--all", "--quiet").split()))
    return [{"id": item["Id"], "state": item["State"]} for item in found]


class Workstation:
    """One host whose services are containers, and the playbooks against it."""

    def __init__(self, folder: Path, engine: Daemon) -> None:
        self.folder, self.engine = folder, engine
        self.ports = {name: free_port() for name in ("omni", "voice")}
        services: dict[str, Any] = {
            name: {
                "kind": "container",
                "name": name,
                "stop_s": 3,
                "health": {"url": f"http://127.0.0.1:{port}/health", "start_s": 20},
            }
            for name, port in self.ports.items()
        }
        services["voice"]["needs"] = ["omni"]
        self.variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "campaign_gpu_roles": {"compute_a": {"kind": "cpu"}},
            "campaign_services": services,
            "campaign_modes": {"split": {"services": ["omni", "voice"]}, "exclusive": {"services": []}},
            "campaign_cache": {"path": str(folder)},
            "campaign_state_dir": str(folder / "state"),
            "campaign_lock_path": str(folder / "lock"),
            "campaign_docker_socket": engine.socket,
            "campaign_route_files": [str(folder / "aliases.toml")],
        }
        (folder / "aliases.toml").write_text('default = "omni"\n')
        (folder / "hosts.yml").write_text(json.dumps({"workstations": {"hosts": {"primary": self.variables}}}))

    def play(self, playbook: str, *options: str, **extra: Any) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))}
        return subprocess.run(
            [str(BIN / "ansible-playbook"), str(ROOT / "playbooks" / playbook), "-i", str(self.folder / "hosts.yml"), "-e", json.dumps(extra), *options],
            cwd=ROOT, env={**kept, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip

    def states(self) -> dict[str, str]:
        return {name: self.engine.status(name) for name in self.ports}

    def by_hand(self, command: str) -> subprocess.CompletedProcess[str]:
        """As docs/usage.md says, by the name for people."""
        program = str(self.folder / "state" / "keeper.pyz")
        return subprocess.run(
            [sys.executable, program, command], capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture(scope="module")
def workstation(users: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workstation]:
    before = (firewall(), containers(users))
    with private_daemon() as engine:
        host = Workstation(tmp_path_factory.mktemp("workstation"), engine)
        for name, port in host.ports.items():
            engine.run_httpd(name, port)
        for port in host.ports.values():
            while not is_healthy(Health(url=f"http://127.0.0.1:{port}/health")):
                continue
        yield host
        assert firewall() == before[0]
    assert (firewall(), containers(users)) == before, "the tests' engine has touched the machine's own"


def test_a_look_and_a_check_leave_nothing(workstation: Workstation) -> None:
    done = workstation.play("mode.yml")
    assert done.returncode == 0, done.stdout
    assert "changed=0" in done.stdout
    assert "primary: mode split, nobody holds it" in done.stdout
    assert re.search(r"^omni +container +running +200$", done.stdout, re.MULTILINE)
    checked = workstation.play("mode.yml", "--check", "--diff", mode_state="exclusive")
    assert checked.returncode == 0, checked.stdout
    assert "+stop voice (undo: start voice)\n+stop omni (undo: start omni)" in checked.stdout
    assert workstation.states() == {"omni": "running", "voice": "running"}
    assert not (workstation.folder / "state").exists()


def test_take_look_refuse_and_give_back(workstation: Workstation) -> None:
    taken = workstation.play("mode.yml", mode_state="exclusive", mode_name="maintenance")
    assert taken.returncode == 0, taken.stdout
    assert workstation.states() == {"omni": "exited", "voice": "exited"}
    looked = workstation.play("mode.yml")
    assert "primary: mode exclusive, held by campaign maintenance since" in looked.stdout
    assert "last sign of its controller" in looked.stdout
    assert re.search(r"^omni +container +exited \(0\) +-$", looked.stdout, re.MULTILINE)
    second = workstation.play("mode.yml", mode_state="exclusive", mode_name="other")
    assert second.returncode == 2
    assert "this host is already reserved by campaign 'maintenance' since" in second.stdout
    assert "Campaign 'maintenance' holds this host since" in workstation.by_hand("status").stdout
    checked = workstation.play("restore.yml", "--check")
    assert "changed=1" in checked.stdout
    assert workstation.states() == {"omni": "exited", "voice": "exited"}
    given_back = workstation.play("restore.yml")
    assert given_back.returncode == 0, given_back.stdout
    assert "changed=1" in given_back.stdout
    assert "primary | started omni" in given_back.stdout
    assert workstation.states() == {"omni": "running", "voice": "running"}
    again = workstation.play("restore.yml")
    assert (again.returncode, "changed=0" in again.stdout) == (0, True), again.stdout


def test_by_hand(workstation: Workstation) -> None:
    assert workstation.play("mode.yml", mode_state="exclusive").returncode == 0
    done = workstation.by_hand("restore")
    assert (done.returncode, "Differences to the state before: 0" in done.stdout) == (0, True), done.stdout
    assert workstation.states() == {"omni": "running", "voice": "running"}
    assert workstation.by_hand("restore").stdout == "Nothing to restore: no campaign holds this host.\n"


def test_nothing_is_promoted_unnoticed(workstation: Workstation) -> None:
    """A route file that changes while the host is taken is a difference, and the restore does not pass."""
    assert workstation.play("mode.yml", mode_state="exclusive").returncode == 0
    aliases = workstation.folder / "aliases.toml"
    aliases.write_text('default = "candidate"\n')
    done = workstation.play("restore.yml")
    assert done.returncode == 2
    assert "The host differs from the state before" in done.stdout
    assert str(aliases) in done.stdout
    assert workstation.states() == {"omni": "running", "voice": "running"}
