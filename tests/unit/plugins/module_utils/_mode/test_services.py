"""Services by commands of the owner's own, and what their declarations have to hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Admission, Health, Service
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Bench]:
    """compose: a pair of scripts that lay and remove a file, whose presence is the service's health."""
    bench = Bench(tmp_path)
    up = tmp_path / "up"
    for name, line in (("start", f"touch {up}"), ("stop", f"rm {up}")):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o755)
    compose = Service(
        "command",
        start=(str(tmp_path / "start"),),
        stop=(str(tmp_path / "stop"),),
        health=Health(command=("/usr/bin/test", "-e", str(up)), start_s=2),
        stop_s=2.0,
    )
    bench.declare(services={"compose": compose})
    up.touch()
    yield bench
    if (bench.state_dir / "reservation").is_dir():
        bench.heal()


def test_by_commands_there_and_back(host: Bench) -> None:
    host.enter()
    assert host.running() == {"compose": False}
    healed = host.heal()
    assert (healed.done, healed.differences) == (("started compose",), ())
    assert host.running() == {"compose": True}


def test_what_was_down_stays_down(host: Bench) -> None:
    (host.folder / "up").unlink()
    host.enter()
    assert host.heal().done == ()
    assert host.running() == {"compose": False}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", r"its stop command ended with 3"),
        ("true", r"still answers 2 s after its stop command ended"),
        ("sleep 60", r"its stop command did not end within 2 s and was killed"),
    ],
)
def test_a_stop_that_fails_gives_the_host_back(host: Bench, script: str, message: str) -> None:
    (host.folder / "stop").write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(CampaignError, match=f"service compose.*{message}.*the host was given back"):
        host.enter()
    assert host.running() == {"compose": True}
    assert not (host.state_dir / "reservation").exists()


def test_a_program_that_is_not_there_is_refused_before_the_first_stop(host: Bench) -> None:
    (host.folder / "start").unlink()
    with pytest.raises(RefusedError, match=r"service compose: start\[0\] .* couldn't be given back"):
        host.enter()
    assert host.running() == {"compose": True}


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("container", {}, "needs name"),
        ("systemd", {}, "needs unit"),
        ("process", {}, "needs argv"),
        ("command", {"start": ("/bin/x",)}, "needs stop and health"),
    ],
)
def test_what_a_kind_needs(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Service(kind, **options)


def test_an_http_router_brings_its_requests() -> None:
    with pytest.raises(ValueError, match="belongs to api: http"):
        Admission("http", "http://127.0.0.1:1")


def test_the_final_state_tells_who_holds_the_host(host: Bench) -> None:
    host.enter("august")
    (host.folder / "start").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(CampaignError, match="not restored: service compose"):
        host.heal()
    final = json.loads((host.state_dir / "reservation" / "final-state.json").read_text())
    assert (final["mode"], final["exclusive_owner"], final["blocked_workloads"]) == ("exclusive", "august", ["compose"])
    (host.folder / "start").write_text(f"#!/bin/sh\ntouch {host.folder / 'up'}\n")
    healed = host.heal()
    assert healed.folder is not None
    final = json.loads((healed.folder / "final-state.json").read_text())
    assert (final["mode"], final["exclusive_owner"], final["unresolved"]) == ("split", None, [])
