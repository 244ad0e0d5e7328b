# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where recipe, image and host stand against the contract, by severity. Pure; the table is in :mod:`.rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from .._words.plan import Contract, ContractFinding
from .engine_variables import unread_variables
from .rules import ABSENT, PRESENT, TABLE, Need, unplanned_settings

#: NCCL's segments (9.6 MB a channel, peer and direction) and vLLM's message ring (240 MB) have to lie in /dev/shm side by side; NVIDIA asks for as much.
SHM_NEEDED_GIB = 1.0
ORDER = ("error", "warning", "note")


def contract_findings(need: Need, contract: Contract) -> tuple[ContractFinding, ...]:
    """The worst first. Errors refuse the lane before anything is touched."""
    found = [finding for check in CHECKS for finding in check(need, contract)]
    return tuple(sorted(found, key=lambda finding: ORDER.index(finding.severity)))


def _arguments(need: Need, _contract: Contract) -> Iterator[ContractFinding]:
    flags = {group[0].split("=", 1)[0] for group in need.recipe.args}
    for rule in TABLE:
        if rule.kind != "argument":
            continue
        there = rule.name in flags
        if rule.applies(need) and there != (rule.wanted == PRESENT):
            action = f"{'remove it from' if there else 'add it to'} args"
            state = (PRESENT, ABSENT) if there else (ABSENT, PRESENT)
            yield ContractFinding("error", "recipe", rule.name, *state, rule.reason, action)
        elif there and rule.wanted == PRESENT and need.multi_gpu and need.facts.peer_access and not rule.applies(need):
            reason = "peers can read each other's memory here, so nothing calls for it, and it may cost speed"
            yield ContractFinding("note", "recipe", rule.name, PRESENT, "", reason)


def _image(need: Need, contract: Contract) -> Iterator[ContractFinding]:
    """Settings that an image brings along, unseen in the recipe. What the plan sets itself wins over the image: a note."""
    if not need.uses_gpus:
        return
    planned = {**need.recipe.env, **contract.variables()}
    unplanned = unplanned_settings(need.image_environment, planned, collective=need.multi_gpu)
    for name, (value, broken) in unplanned.items():
        yield ContractFinding("error", "image", name, value, broken.wanted, broken.reason, "use an image without it")
    for name, wanted in contract.variables().items():
        brought = need.image_environment.get(name, wanted)
        if brought != wanted:
            yield ContractFinding("note", "image", name, brought, wanted, "the plan's value is the one in effect")


def _peers(need: Need, _contract: Contract) -> Iterator[ContractFinding]:
    if need.multi_gpu and need.facts.observed and need.facts.peer_access is None and not need.no_peer_access:
        yield ContractFinding(
            "warning", "host", "peer access", "not told by the driver", "told",
            "whether the contract for hosts without it is called for is not known", "the probe of the transport decides",
        )  # fmt: skip


def _shared_memory(need: Need, _contract: Contract) -> Iterator[ContractFinding]:
    """Where it is served: the container's own, or the host's; in Docker Desktop's machine only the probe can measure it."""
    if not need.multi_gpu:
        return
    limits, docker = need.recipe.limits, need.facts.docker
    container = need.recipe.engine.runtime == "docker"
    place: Literal["recipe", "host"]
    if container and limits.ipc != "host":
        place, size, action = "recipe", limits.shm_gib, "raise limits.shm_gib"
    elif container and docker is not None and docker.desktop:
        return
    else:
        place, size, action = "host", need.facts.shm_gib, "mount a larger one: mount -o remount,size=2G /dev/shm"
    if size is not None and size < SHM_NEEDED_GIB:
        yield ContractFinding(
            "error", place, "/dev/shm", f"{size:g} GiB", f"{SHM_NEEDED_GIB:g} GiB or more",
            "ranks exchange data through it, and die where it is full", action,
        )  # fmt: skip


def _unread(need: Need, _contract: Contract) -> Iterator[ContractFinding]:
    for name in unread_variables(need.recipe):
        engine = need.recipe.engine
        reason = f"the upstream release {engine.kind} {engine.version} does not read it"
        yield ContractFinding("note", "recipe", f"env.{name}", "set", "", reason)


CHECKS: tuple[Callable[[Need, Contract], Iterator[ContractFinding]], ...] = (
    _arguments, _image, _peers, _shared_memory, _unread,
)  # fmt: skip
