"""Listings of real drivers, and a host without one."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.tandem.campaign.plugins.module_utils._host.probe import (
    folder_report,
    parse_gpus,
    port_is_free,
    read_engine_environment,
    read_gpus,
    run_program,
)

#: Two cards under WSL2, in the form of `--format=csv,noheader,nounits`; the second with what that driver does not tell.
CARD = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
LISTING = (
    f"0, {CARD}, GPU-11111111-2222-3333-4444-555555555555, 00000000:01:00.0, 610.88, 97887, 12, 300.00, 12.0\n"
    f"1, {CARD}, GPU-66666666-7777-8888-9999-000000000000, 00000000:02:00.0, 610.88, 97887, [N/A], [Not Supported], [Unknown Error]\n"
)


def test_gpus() -> None:
    first, second = parse_gpus(LISTING)
    assert (first.memory_total_mib, first.memory_used_mib, first.power_limit_w, first.compute_capability) == (
        97887,
        12,
        300.0,
        "12.0",
    )
    assert (second.memory_used_mib, second.power_limit_w, second.compute_capability) == (None, None, None)


def test_a_laptop_s_card_under_wsl2() -> None:
    """As public reports show WSL2's listing: the Windows driver's number, no power limit, memory of the desktop (NVIDIA/nvidia-docker#1604)."""
    line = "0, NVIDIA GeForce GTX 1650 Ti with Max-Q Design, GPU-11111111-2222-3333-4444-555555555555, 00000000:01:00.0, 510.06, 4096, 1024, [N/A], 7.5\n"
    (gpu,) = parse_gpus(line)
    assert (gpu.driver, gpu.memory_used_mib, gpu.power_limit_w, gpu.compute_capability) == ("510.06", 1024, None, "7.5")


def test_noise_in_a_listing_is_no_gpu() -> None:
    assert parse_gpus("Failed to initialize NVML: Driver/library version mismatch\n") == ()


def test_the_wsl_path_is_tried_second() -> None:
    asked = []

    def run(arguments: list[str]) -> tuple[int, str, str]:
        asked.append(arguments[0])
        return (0, LISTING, "") if arguments[0].startswith("/usr/lib/wsl") else (127, "", "not found")

    assert len(read_gpus(run)) == 2
    assert asked == ["nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"]


def test_no_driver_no_gpus() -> None:
    assert read_gpus(lambda _arguments: (127, "", "")) == ()


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    report = folder_report(str(tmp_path / "a" / "b"))
    assert report["writable"] is True
    assert report["free_gib"] > 0


def test_a_taken_port() -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert not port_is_free("127.0.0.1", server.getsockname()[1])


def test_an_engine_environment_that_is_not_there() -> None:
    assert "No such file" in read_engine_environment("/nonexistent/python", run_program)["problem"]
