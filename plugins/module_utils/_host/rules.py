# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract as one table: which variables and arguments the host's facts demand of a load, and why. Pure.

docs/contract.md shows the table; a test keeps the two the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from .._words.host import HostFacts
from .._words.plan import Contract, ContractRule
from .._words.recipe import Recipe, is_native_allocator


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


Condition = Literal["any GPU", "several GPUs", "no peer access"]
CONDITIONS: Mapping[Condition, Callable[[Need], bool]] = {
    "any GPU": lambda need: need.uses_gpus,
    "several GPUs": lambda need: need.multi_gpu,
    "no peer access": lambda need: need.no_peer_access,
}
#: What a rule can want beside a value. A native allocator: no segments that grow, no other backend.
PRESENT, ABSENT, NATIVE = "present", "absent", "native"


@dataclass(frozen=True)
class Rule:
    """One row. ``name`` may be a pattern where absence is wanted. ``engines``: all where empty."""

    kind: Literal["variable", "argument"]
    name: str
    wanted: str
    when: Condition
    reason: str
    source: str
    engines: tuple[str, ...] = ()

    def applies(self, need: Need) -> bool:
        return (not self.engines or need.recipe.engine.kind in self.engines) and CONDITIONS[self.when](need)

    def names(self, name: str) -> bool:
        return fnmatchcase(name, self.name)


NCCL_DOCS = "NCCL documentation, environment variables"
SEED = "published campaign of 2026-08-01"
ENGINE_SOURCE = "sources of the engines (vLLM 0.25.1, SGLang 0.5.16)"
TORCH_DOCS = "PyTorch documentation, CUDA semantics (memory management)"
BOTH = ("vllm", "sglang")

#: Variables that are set come first, in the order of printing; for what an image brings along the first row that names it counts.
TABLE: tuple[Rule, ...] = (
    Rule("variable", "NCCL_DEBUG", "INFO", "several GPUs", "without NCCL's own lines no transport can be proven", NCCL_DOCS),
    Rule("variable", "CUDA_DEVICE_ORDER", "PCI_BUS_ID", "any GPU", "CUDA's default order is fastest first, not the listing's", "CUDA programming guide"),
    Rule("variable", "CUDA_VISIBLE_DEVICES", "{ordinals}", "any GPU", "a container numbers its devices from 0, and some engines can't read UUIDs", SEED),
    Rule("variable", "NCCL_P2P_DISABLE", "1", "no peer access", "direct peer access fails at communicator setup here", SEED),
    Rule("variable", "NCCL_SHM_DISABLE", "0", "no peer access", "shared memory is the transport that remains", NCCL_DOCS),
    Rule("variable", "NCCL_CUMEM_ENABLE", "0", "no peer access", "cuMem mapping fails with CUDA error 999 under WSL2", SEED),
    Rule("variable", "NCCL_CUMEM_HOST_ENABLE", "0", "no peer access", "nothing else sets it, and its default is on with newer drivers", SEED),
    Rule("variable", "NCCL_NVLS_ENABLE", "0", "no peer access", "no NVSwitch here; an engine option may force it on", NCCL_DOCS),
    Rule("variable", "NCCL_IB_DISABLE", "1", "no peer access", "one host: keeps the log free of other networks", NCCL_DOCS),
    Rule("argument", "--disable-custom-all-reduce", PRESENT, "no peer access", "the engine's all-reduce uses CUDA IPC between peers", ENGINE_SOURCE, BOTH),
    Rule("argument", "--enable-symm-mem", ABSENT, "no peer access", "it forces NCCL_CUMEM_ENABLE and NCCL_NVLS_ENABLE to 1, over the contract", ENGINE_SOURCE),
    Rule("argument", "--enable-torch-symm-mem", ABSENT, "no peer access", "it takes the symmetric-memory path that dies with SIGFPE under WSL2", ENGINE_SOURCE),
    Rule("argument", "--enable-nccl-nvls", ABSENT, "no peer access", "it forces NCCL_NVLS_ENABLE to 1, over the contract", ENGINE_SOURCE),
    Rule("variable", "NCCL_VERSION", "any", "several GPUs", "it says which NCCL is inside, and sets nothing", "NVIDIA's CUDA images"),
    Rule("variable", "NCCL_CONF_FILE", ABSENT, "several GPUs", "the file that it names may set anything, unseen", NCCL_DOCS),
    Rule("variable", "NCCL_*", ABSENT, "several GPUs", "an NCCL setting that neither the recipe nor the contract knows of", NCCL_DOCS),
    Rule("variable", "PYTORCH_CUDA_ALLOC_CONF", NATIVE, "any GPU", "only the native allocator goes with peers' shared handles", TORCH_DOCS),
    Rule("variable", "PYTORCH_ALLOC_CONF", NATIVE, "any GPU", "only the native allocator goes with peers' shared handles", TORCH_DOCS),
    Rule("variable", "PYTORCH_NO_CUDA_MEMORY_CACHING", ABSENT, "any GPU", "without the allocator's cache every allocation asks the driver", TORCH_DOCS),
)  # fmt: skip
#: What a plan sets: a value, where others are only wanted or unwanted.
SET = tuple(rule for rule in TABLE if rule.kind == "variable" and rule.wanted not in (PRESENT, ABSENT, NATIVE, "any"))


def contract_for(need: Need) -> Contract:
    """The contract of one load."""
    return Contract(
        tuple(
            ContractRule(rule.name, rule.wanted.format(ordinals=need.ordinals), rule.reason, rule.source)
            for rule in SET
            if rule.applies(need)
        ),
        tuple(
            ContractRule(rule.name, "", rule.reason, rule.source)
            for rule in TABLE
            if rule.kind == "argument" and rule.wanted == PRESENT and rule.applies(need)
        ),
    )


def unplanned_settings(
    environment: Mapping[str, str], planned: Collection[str], *, collective: bool
) -> dict[str, tuple[str, Rule]]:
    """Name -> (value, the row that it breaks) of variables that are not in the plan; ``collective``: ranks talk to each other."""
    conditions = ("any GPU", "several GPUs") if collective else ("any GPU",)
    rows = [rule for rule in TABLE if rule.kind == "variable" and rule.when in conditions and rule not in SET]
    found = {}
    for name, value in sorted(environment.items()):
        rule = next((rule for rule in rows if rule.names(name)), None)
        if rule is None or name in planned or rule.wanted == "any":
            continue
        if rule.wanted == ABSENT or not is_native_allocator(value):
            found[name] = (value, rule)
    return found
