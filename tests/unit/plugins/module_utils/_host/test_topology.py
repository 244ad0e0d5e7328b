"""nvidia-smi's square tables: of two H200s as recorded (driver 580.159.04, 2026-11-30), and in the forms that other machines print."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.probe import (
    read_docker_client,
    read_square,
    read_windows,
)
from ansible_collections.tandem.campaign.plugins.module_utils._host.topology import (
    drift,
    farthest_link,
    names,
    parse_square,
    peer_access,
)

H200 = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV18\t0-31\t0\t\tN/A\nGPU1\tNV18\t X \t0-31\t0\t\tN/A\n\nLegend:\n\n  X    = Self\n"
WORKSTATION = (
    "\x1b[4m\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\x1b[0m\nGPU0\t X \tPXB\tSYS\tNODE\t0-15\nGPU1\tPXB\t X \tPHB\tSYS\t0-15\n"
    "GPU2\tSYS\tPHB\t X \tSYS\t16-31\nNIC0\tNODE\tSYS\tSYS\t X \n"
)
PEERS = " \tGPU0\tGPU1\n GPU0\tX\t{0}\n GPU1\t{0}\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"


def test_links() -> None:
    assert parse_square(H200) == {(0, 1): "NV18"}
    pairs = parse_square(WORKSTATION)
    assert pairs == {(0, 1): "PXB", (0, 2): "SYS", (1, 2): "PHB"}
    assert farthest_link(pairs) == "SYS"
    assert farthest_link(parse_square(H200)) == "NV18"
    assert names(pairs, ["GPU-a", "GPU-b", "GPU-c"])[0] == {"from": "GPU-a", "to": "GPU-b", "link": "PXB"}


@pytest.mark.parametrize(("state", "access"), [("OK", True), ("CNS", False), ("NS", False), ("TNS", False)])
def test_peer_access(state: str, access: bool) -> None:
    assert peer_access(parse_square(PEERS.format(state))) is access


@pytest.mark.parametrize(
    "text", ["", "Failed to initialize NVML", "GPU0\n", "GPU0 nonsense", "topo is not supported on this platform\n"]
)
def test_nothing_told_is_nothing_known(text: str) -> None:
    assert parse_square(text) == {}
    assert (farthest_link({}), peer_access({})) == (None, None)
    assert farthest_link({(0, 1): "???"}) is None


def test_the_second_path_and_a_host_without() -> None:
    asked = []

    def run(arguments: list[str]) -> tuple[int, str, str]:
        asked.append(arguments)
        return (0, H200, "") if arguments[0].startswith("/usr/lib/wsl") else (127, "", "")

    assert read_square(run, "-m") == {(0, 1): "NV18"}
    assert asked[0] == ["nvidia-smi", "topo", "-m"]
    assert read_square(lambda _arguments: (127, "", ""), "-m") == {}


def test_windows_and_the_docker_command() -> None:
    def run(arguments: list[str]) -> tuple[int, str, str]:
        if arguments[0] == "docker":
            return 0, "Docker version 29.6.2, build 1a2b3c4\n", ""
        return 0, "\r\nMicrosoft Windows [Version 10.0.26100.4652]\r\n", ""

    assert (read_windows(run), read_docker_client(run)) == ("10.0.26100.4652", "29.6.2")
    assert (read_windows(lambda _a: (127, "", "")), read_docker_client(lambda _a: (1, "", ""))) == (None, None)


def test_drift() -> None:
    declared = {"wsl2": True, "link": "PXB", "peer_access": False}
    assert drift(declared, {"wsl2": True, "link": "NV18", "peer_access": None}) == [
        "campaign_host_class.link is 'PXB', the host says 'NV18'"
    ]
    assert drift({}, {"wsl2": True}) == []
