# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cards drew while a lane was timed, and whether that may be called the lane's energy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

#: The driver's power is a mean over about a second (nvidia-smi's manual, power.draw): a shorter lane is blurred by its surroundings.
SHORTEST_S = 10.0
#: Samples come every second; where one is missing, nobody knows what was drawn.
LARGEST_GAP_S = 2.5
#: Bits of clocks_event_reasons.active (NVML, nvmlClocksEventReasons); idle and an owner's own clock setting are no throttling.
THROTTLE_BITS = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "software thermal slowdown", 0x40: "hardware thermal slowdown", 0x80: "power brake",
}  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """One card at one moment. ``t``: Unix time in s; power in W, temperature in °C, clocks in MHz, memory in MiB; what the driver doesn't say is None."""

    t: float
    role: str
    power_w: float | None
    temperature_c: float | None
    sm_mhz: float | None
    memory_mhz: float | None
    utilization: float | None
    memory_mib: float | None
    throttle: tuple[str, ...] | None


def throttle_reasons(bits: str) -> tuple[str, ...] | None:
    """Names of the set bits of a hexadecimal mask; None where it is none."""
    try:
        mask = int(bits, 16)
    except ValueError:
        return None
    return tuple(name for bit, name in THROTTLE_BITS.items() if mask & bit)


def unix_time(utc: str) -> float:
    """Of a time as evidence has it."""
    return datetime.fromisoformat(utc.replace("Z", "+00:00")).timestamp()


def energy_document(
    samples: Iterable[Sample], roles: Sequence[str], began_at: str, wall_s: float, tokens: int | None
) -> dict[str, Any]:
    """``{valid, reason, joules, joules_per_output_token, samples, largest_gap_s, by_role}`` from ``began_at`` on for ``wall_s`` seconds.

    Energy is of all roles and of everything that ran in that time, failed requests included; ``tokens`` are the successful ones' completion tokens.
    """
    began, samples = unix_time(began_at), list(samples)
    # Where no card was sampled it doesn't matter which were to be.
    roles = roles if any(one.t <= began + wall_s for one in samples) else ()
    window = {role: _around([one for one in samples if one.role == role], began, began + wall_s) for role in roles}
    gaps = {role: _largest_gap(found, began, began + wall_s) for role, found in window.items()}
    joules = {role: _joules(found, began, began + wall_s) for role, found in window.items()}
    reason = _trouble(roles, wall_s, gaps, joules, tokens)
    total = (
        sum(value for value in joules.values() if value is not None) if roles and None not in joules.values() else None
    )
    return {
        "valid": reason is None,
        "reason": reason or f"{len(roles)} roles sampled every second, the largest gap {max(gaps.values()):.1f} s",
        "joules": total,
        "joules_per_output_token": total / tokens if total is not None and tokens else None,
        "samples": sum(len(found) for found in window.values()),
        "by_role": {role: _role_document(found, joules[role], wall_s) for role, found in window.items()},
    }


def _trouble(
    roles: Sequence[str],
    wall_s: float,
    gaps: Mapping[str, float],
    joules: Mapping[str, float | None],
    tokens: int | None,
) -> str | None:
    if not roles:
        return "no card was sampled"
    silent = next((role for role in roles if joules[role] is None), None)
    if silent:
        return f"{silent} told no power"
    if wall_s < SHORTEST_S:
        return f"{wall_s:.1f} s is too short for a power that is a mean over a second ({SHORTEST_S:.0f} s are needed)"
    worst = max(gaps, key=lambda role: gaps[role])
    if gaps[worst] > LARGEST_GAP_S:
        return f"{worst} was not sampled for {gaps[worst]:.1f} s"
    return None if tokens else "the engine gave no completion token counts"


def _around(samples: Sequence[Sample], begin: float, end: float) -> list[Sample]:
    """Those within the window and the one before it, in order. What came later wasn't known when the lane's document was written."""
    ordered = sorted(samples, key=lambda one: one.t)
    before = [one for one in ordered if one.t < begin][-1:]
    return [*before, *(one for one in ordered if begin <= one.t <= end)]


def _largest_gap(samples: Sequence[Sample], begin: float, end: float) -> float:
    moments = [begin, *(one.t for one in samples if begin <= one.t <= end), end]
    if samples and samples[0].t < begin:
        moments[0] = samples[0].t
    return max(later - earlier for earlier, later in pairwise(moments))


def _joules(samples: Sequence[Sample], begin: float, end: float) -> float | None:
    """Power over time, straight from one sample to the next; before the first and behind the last it is held."""
    told = [(one.t, one.power_w) for one in samples]
    if not told or any(power is None for _t, power in told):
        return None
    points = [(t, power) for t, power in told if power is not None]
    moments = sorted({begin, end, *(t for t, _power in points if begin < t < end)})
    return sum(
        (later - earlier) * (_power_at(points, earlier) + _power_at(points, later)) / 2
        for earlier, later in pairwise(moments)
    )


def _power_at(points: Sequence[tuple[float, float]], t: float) -> float:
    if t <= points[0][0]:
        return points[0][1]
    for (t0, p0), (t1, p1) in pairwise(points):
        if t <= t1:
            return p0 + (p1 - p0) * (t - t0) / (t1 - t0) if t1 > t0 else p1
    return points[-1][1]


def _role_document(samples: Sequence[Sample], joules: float | None, wall_s: float) -> dict[str, Any]:
    reasons = {reason for one in samples for reason in one.throttle or ()}
    return {
        "mean_power_w": joules / wall_s if joules is not None and wall_s > 0 else None,
        "max_temperature_c": max((one.temperature_c for one in samples if one.temperature_c is not None), default=None),
        "min_sm_mhz": min((one.sm_mhz for one in samples if one.sm_mhz is not None), default=None),
        "throttled_by": sorted(reasons) if any(one.throttle is not None for one in samples) else None,
    }
