"""Energy of a lane: the area under the power, and only where the samples bear it out."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.energy import (
    Sample,
    energy_document,
    throttle_reasons,
    unix_time,
)
from ansible_collections.tandem.campaign.plugins.module_utils._gates.telemetry import Telemetry, sample_of
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.nvidia import UUIDS

BEGAN = "2026-01-01T00:00:00.000Z"
ROLES = ("compute_a", "compute_b")


def samples(seconds: int, power: float = 300.0, every: float = 1.0) -> list[Sample]:
    """Two cards, the second at a third of the first's power."""
    moments = [unix_time(BEGAN) - 0.5 + number * every for number in range(int(seconds / every) + 2)]
    return [
        Sample(t, role, watts, 60.0, 2000.0, 9000.0, 90.0, 80_000.0, ())
        for t in moments
        for role, watts in zip(ROLES, (power, power / 3), strict=True)
    ]


def test_joules_per_output_token() -> None:
    document = energy_document(samples(20), ROLES, BEGAN, 20.0, 4000)
    assert document["valid"] is True
    assert document["joules"] == pytest.approx(20 * 400)
    assert document["joules_per_output_token"] == pytest.approx(2.0)
    assert document["by_role"]["compute_b"]["mean_power_w"] == pytest.approx(100)
    assert document["by_role"]["compute_a"]["throttled_by"] == []


def test_power_that_rises_in_a_line() -> None:
    rising = [replace(one, power_w=10 * (one.t - unix_time(BEGAN))) for one in samples(30) if one.role == "compute_a"]
    assert energy_document(rising, ROLES[:1], BEGAN, 20.0, 1)["joules"] == pytest.approx(10 * 20**2 / 2, rel=0.01)


@pytest.mark.parametrize(
    ("found", "wall_s", "tokens", "says"),
    [
        (samples(20)[:10] + samples(20)[18:], 20.0, 100, "was not sampled for"),
        (samples(20)[:20], 20.0, 100, "was not sampled for"),
        (samples(4), 4.0, 100, "4.0 s is too short"),
        ([one for one in samples(20) if one.role == "compute_a"], 20.0, 100, "compute_b told no power"),
        ([replace(one, power_w=None) for one in samples(20)], 20.0, 100, "compute_a told no power"),
        (samples(20), 20.0, None, "no completion token counts"),
        ([], 20.0, 100, "no card was sampled"),
    ],
)
def test_what_is_no_energy(found: list[Sample], wall_s: float, tokens: int | None, says: str) -> None:
    document = energy_document(found, ROLES, BEGAN, wall_s, tokens)
    assert (document["valid"], says in document["reason"]) == (False, True), document["reason"]
    json.dumps(document, allow_nan=False)


def test_what_comes_later_changes_nothing() -> None:
    until = [one for one in samples(40) if one.t <= unix_time(BEGAN) + 20.0]
    assert energy_document(until, ROLES, BEGAN, 20.0, 9) == energy_document(samples(40), ROLES, BEGAN, 20.0, 9)


def test_without_samples_the_roles_do_not_matter() -> None:
    assert energy_document([], ROLES, BEGAN, 20.0, 9) == energy_document([], (), BEGAN, 20.0, 9)


def test_a_line_of_the_driver() -> None:
    sample = sample_of("GPU-x, 299.52, 61, 2325, [N/A], 97, 88012, 0x0000000000000024", 5.0, {"GPU-x": "compute_a"})
    assert sample == Sample(
        5.0, "compute_a", 299.52, 61.0, 2325.0, None, 97.0, 88012.0, ("power cap", "software thermal slowdown")
    )
    assert sample_of("GPU-y, 1, 1, 1, 1, 1, 1, 0x0", 5.0, {"GPU-x": "compute_a"}) is None
    assert sample_of("No devices were found", 5.0, {"GPU-x": "compute_a"}) is None
    assert throttle_reasons("[N/A]") is None


def test_a_driver_that_goes_on_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older name of the reasons, and a line every tenth of a second until it is killed."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    line = f"{UUIDS[0]}, 250.00, 55, 2000, 9000, 80, 1000, 0x0000000000000004"
    smi.write_text(
        f'#!/bin/sh\ncase "$*" in *event_reasons*) exit 2 ;; esac\necho "{line}"\n'
        f'case "$*" in *--loop-ms*) while :; do sleep 0.1; echo "{line}"; done ;; esac\n'
    )
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:/usr/bin:/bin")
    with Telemetry({"compute_a": UUIDS[0]}, tmp_path, identity()) as telemetry:
        moment = time.time() + 0.3
        kept = telemetry.through(moment)
    assert 1 <= len(kept) <= 5
    assert all(one.t <= moment and one.throttle == ("power cap",) for one in kept)
    header, *lines = [json.loads(text) for text in (tmp_path / "telemetry.jsonl").read_text().splitlines()]
    assert (header["schema"], header["roles"]) == ("tandem.telemetry/v1", ["compute_a"])
    assert lines[0]["power_w"] == 250.0


def test_no_driver_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with Telemetry({"compute_a": UUIDS[0]}, tmp_path, identity()) as telemetry:
        assert telemetry.through(time.time()) == []
    assert not (tmp_path / "telemetry.jsonl").exists()
