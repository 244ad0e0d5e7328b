"""What a Docker Engine is, from documents that real ones gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.docker_facts import docker_facts, engine_problems
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import DockerFacts

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "docker"


def facts(name: str) -> DockerFacts:
    document = json.loads((FIXTURES / f"{name}.json").read_text())
    return docker_facts(document["info"], document["version"])


def test_docker_desktop_runs_containers_on_a_kernel_of_its_own() -> None:
    desktop = facts("docker-desktop-29.1.5-wsl2")
    assert (desktop.desktop, desktop.wsl2, desktop.podman) == (True, True, False)
    assert (desktop.version, desktop.api, desktop.oldest_api) == ("29.1.5", "1.52", "1.44")
    assert desktop.cdi_devices == ("docker.com/gpu=webgpu",)
    assert engine_problems(desktop, gpus=True, cdi=False) == []


def test_a_debian_engine() -> None:
    debian = facts("docker-20.10")
    assert (debian.desktop, debian.wsl2, debian.podman, debian.rootless, debian.api) == (
        False,
        False,
        False,
        False,
        "1.41",
    )
    assert engine_problems(debian, gpus=True, cdi=False) == []


def test_podman_says_that_it_is_podman() -> None:
    podman = facts("podman-4.3.1")
    assert (podman.podman, podman.desktop, podman.architecture) == (True, False, "amd64")


def test_cdi_needs_a_specification_that_the_daemon_has_found() -> None:
    (problem,) = engine_problems(facts("docker-desktop-29.1.5-wsl2"), gpus=True, cdi=True)
    assert "no CDI device nvidia.com/gpu" in problem
    assert engine_problems(facts("docker-20.10"), gpus=False, cdi=True) == []


@pytest.mark.parametrize(("api", "refused"), [("1.40", True), ("1.41", False), ("1.52", False), ("", False)])
def test_an_engine_that_is_too_old(api: str, refused: bool) -> None:
    document = json.loads((FIXTURES / "docker-20.10.json").read_text())
    found = docker_facts(document["info"], {**document["version"], "ApiVersion": api})
    assert bool(engine_problems(found, gpus=False, cdi=False)) is refused
