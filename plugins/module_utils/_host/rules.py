# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract as a table: which variables and arguments the host's facts demand of a load, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from .._words.host import HostFacts
from .._words.plan import Contract, ContractRule
from .._words.recipe import ALLOCATOR_VARIABLES, Recipe, is_native_allocator


@dataclass(frozen=True)
class Need:
    """The inputs of every condition: what the host is, what the recipe wants, the roles' devices, what the image brings along."""

    facts: HostFacts
    recipe: Recipe
    devices: tuple[str, ...] = ()
    image_environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def uses_gpus(self) -> bool:
        return self.multi_gpu or any(device != "cpu" for device in self.devices)

    @property
    def ordinals(self) -> str:
        """A container sees its devices numbered from 0; a process sees the host's, by their place in the listing."""
        by_uuid = {gpu.uuid: str(gpu.index) for gpu in self.facts.gpus}
        if (
            self.recipe.engine.runtime == "process"
            and self.devices
            and all(device in by_uuid for device in self.devices)
        ):
            return ",".join(by_uuid[device] for device in self.devices)
        return ",".join(str(number) for number in range(self.recipe.needs.roles))

    @property
    def multi_gpu(self) -> bool:
        return self.recipe.needs.roles > 1

    @property
    def no_peer_access(self) -> bool:
        """WSL2, or a PCIe pair whose driver denies peer access. A host with NVLink on bare metal is neither.

        Containers run on the daemon's kernel, which may be another machine's than the controller reaches (Docker Desktop).
        """
        docker = self.facts.docker if self.recipe.engine.runtime == "docker" else None
        wsl2 = self.facts.wsl2 or (docker is not None and docker.wsl2)
        return self.multi_gpu and (wsl2 or self.facts.peer_access is False)


def _multi_gpu(need: Need) -> bool:
    return need.multi_gpu


def _gpu(need: Need) -> bool:
    return need.uses_gpus


def _no_peer(need: Need) -> bool:
    return need.no_peer_access


NCCL_SOURCE = "NCCL documentation, environment variables; seed campaign of 2026-08-01"

#: name, value, when, reason, source. Order is the order of printing.
ENVIRONMENT_RULES: tuple[tuple[str, str, Callable[[Need], bool], str, str], ...] = (
    ("NCCL_DEBUG", "INFO", _multi_gpu, "without NCCL's own lines no transport can be proven", NCCL_SOURCE),
    (
        "CUDA_DEVICE_ORDER",
        "PCI_BUS_ID",
        _gpu,
        "CUDA's default order is fastest first, not the listing's",
        "CUDA programming guide",
    ),
    (
        "CUDA_VISIBLE_DEVICES",
        "{ordinals}",
        _gpu,
        "a container's devices are renumbered from 0, and some engines can't read UUIDs here",
        "seed campaign",
    ),
    ("NCCL_P2P_DISABLE", "1", _no_peer, "direct peer access fails at communicator setup here", NCCL_SOURCE),
    ("NCCL_SHM_DISABLE", "0", _no_peer, "shared memory is the transport that remains", NCCL_SOURCE),
    ("NCCL_CUMEM_ENABLE", "0", _no_peer, "cuMem mapping fails with CUDA error 999 under WSL2", NCCL_SOURCE),
    (
        "NCCL_CUMEM_HOST_ENABLE",
        "0",
        _no_peer,
        "nothing else sets it, and its default is on with newer drivers",
        NCCL_SOURCE,
    ),
    ("NCCL_NVLS_ENABLE", "0", _no_peer, "no NVSwitch here; an engine option may force it on", NCCL_SOURCE),
    ("NCCL_IB_DISABLE", "1", _no_peer, "one host: keeps the log free of other networks", NCCL_SOURCE),
)

#: engine kind -> the flag that turns its own all-reduce off (plain CUDA IPC, which NCCL's variables do not touch).
CUSTOM_ALL_REDUCE_OFF = {"vllm": "--disable-custom-all-reduce", "sglang": "--disable-custom-all-reduce"}
FORBIDDEN_ARGUMENTS = {
    "--enable-symm-mem": "forces NCCL_CUMEM_ENABLE and NCCL_NVLS_ENABLE to 1, over the contract",
    "--enable-torch-symm-mem": "takes the symmetric-memory path that dies with SIGFPE under WSL2",
    "--enable-nccl-nvls": "forces NCCL_NVLS_ENABLE to 1, over the contract",
}


#: Says which NCCL is inside, and sets nothing.
HARMLESS_IN_AN_IMAGE = ("NCCL_VERSION",)
MEMORY_VARIABLES = (*ALLOCATOR_VARIABLES, "PYTORCH_NO_CUDA_MEMORY_CACHING")


def contract_for(
    facts: HostFacts, recipe: Recipe, devices: tuple[str, ...] = (), image_environment: Mapping[str, str] | None = None
) -> Contract:
    """The contract of one load: pure function of host facts, recipe, the roles' devices and the image's environment. Conflicts refuse the lane."""
    need = Need(facts, recipe, devices, image_environment or {})
    environment = tuple(
        ContractRule(name, value.format(ordinals=need.ordinals), reason, source)
        for name, value, applies, reason, source in ENVIRONMENT_RULES
        if applies(need)
    )
    arguments: tuple[ContractRule, ...] = ()
    conflicts: list[str] = []
    if need.no_peer_access:
        flags = {group[0].split("=", 1)[0] for group in recipe.args}
        off = CUSTOM_ALL_REDUCE_OFF.get(recipe.engine.kind)
        if off:
            arguments = (
                ContractRule(off, "", "the engine's own all-reduce uses CUDA IPC between peers", "engine source"),
            )
            if off not in flags:
                conflicts.append(
                    f"args lack {off}: the engine's own all-reduce would use CUDA IPC, which this host can't do"
                )
        conflicts += [f"args have {flag}: it {why}" for flag, why in FORBIDDEN_ARGUMENTS.items() if flag in flags]
    conflicts += _smuggled(need, {rule.name for rule in environment} | set(recipe.env))
    return Contract(environment, arguments, tuple(conflicts))


def _smuggled(need: Need, set_by_us: set[str]) -> list[str]:
    """Settings that an image brings along, unseen in the recipe. What the plan sets itself wins over the image and is no conflict."""
    if not need.uses_gpus:
        return []
    return [
        f"the image sets {name}={value}: {kind} that neither the recipe nor the contract knows of; use an image without it"
        for name, (value, kind) in unplanned_settings(
            need.image_environment, set_by_us, collective=need.multi_gpu
        ).items()
    ]


def unplanned_settings(
    environment: Mapping[str, str], planned: Collection[str], *, collective: bool
) -> dict[str, tuple[str, str]]:
    """Name -> (value, kind) of NCCL settings (where ranks talk to each other) and allocator settings that are not in the plan."""
    found = {}
    for name, value in sorted(environment.items()):
        if name in planned:
            continue
        if collective and name.startswith("NCCL_") and name not in HARMLESS_IN_AN_IMAGE:
            found[name] = (value, "an NCCL setting")
        elif name in MEMORY_VARIABLES and not is_native_allocator(value):
            found[name] = (value, "an allocator setting")
    return found
