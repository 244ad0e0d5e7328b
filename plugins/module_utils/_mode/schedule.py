# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs steps that wait for each other: what is independent at once, what depends on a failed one not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class Outcome(Generic[T]):
    """``results`` and ``failures`` by name; ``skipped``: name -> the failed one it waited for."""

    results: dict[str, T] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def run_steps(after: Mapping[str, tuple[str, ...]], act: Callable[[str], T], *, go_on: bool) -> Outcome[T]:
    """Acts on each name once those of ``after[name]`` are done.

    Where one fails, nothing more is begun (``go_on`` false: taking a host) or only what waited for it is left out (true: giving one
    back). What has begun is always waited for. Names in ``after`` that are no keys count as done.
    """
    outcome: Outcome[T] = Outcome()
    left = dict(after)
    running: dict[Future[T], str] = {}
    with ThreadPoolExecutor(max_workers=max(1, len(after))) as pool:
        while left or running:
            for name in list(left):
                broken = [other for other in left[name] if other in outcome.failures or other in outcome.skipped]
                if broken:
                    outcome.skipped[name] = broken[0]
                    del left[name]
                elif all(other in outcome.results or other not in after for other in left[name]):
                    running[pool.submit(act, name)] = name
                    del left[name]
            if not running:
                continue
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                fault = future.exception()
                if fault is None:
                    outcome.results[name] = future.result()
                elif isinstance(fault, Exception):
                    outcome.failures[name] = fault
                else:
                    raise fault
            if outcome.failures and not go_on:
                outcome.skipped |= dict.fromkeys(left, next(iter(outcome.failures)))
                left = {}
    return outcome
