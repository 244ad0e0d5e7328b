# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launch plan: the fully rendered start of an engine. A pure function of recipe, host facts and contract."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .documents import sha256_of


@dataclass(frozen=True)
class ContractRule:
    """One environment variable or argument that the host's facts demand, with its reason and source."""

    name: str
    value: str
    reason: str
    source: str


@dataclass(frozen=True)
class Contract:
    """What the facts demand: variables that the plan sets, and flags that the engine must carry."""

    environment: tuple[ContractRule, ...] = ()
    arguments: tuple[ContractRule, ...] = ()

    def variables(self) -> dict[str, str]:
        """The environment as ``{name: value}``."""
        return {rule.name: rule.value for rule in self.environment}


@dataclass(frozen=True)
class ContractFinding:
    """Where a recipe, an image or the host stands against the contract. ``error`` refuses the lane; the others are printed and kept.

    ``found`` and ``wanted`` as text, ``wanted`` empty where nothing has to be another way; ``action`` is the way out.
    """

    severity: Literal["error", "warning", "note"]
    place: Literal["recipe", "image", "host"]
    name: str
    found: str
    wanted: str
    reason: str
    action: str = ""

    def sentence(self) -> str:
        wanted = f", wanted is {self.wanted}" if self.wanted else ""
        way_out = f"; {self.action}" if self.action else ""
        return f"{self.place}: {self.name} is {self.found}{wanted}: {self.reason}{way_out}"


@dataclass(frozen=True)
class Mount:
    """A folder of the host (``bind``) or a named volume of the Docker Engine, shown to the engine. The process runtime has none."""

    source: str
    target: str
    read_only: bool
    kind: Literal["bind", "volume"] = "bind"


@dataclass(frozen=True)
class ContainerStart:
    """What only the docker runtime has. ``image`` is what the recipe pins, ``image_id`` the proven local image that it is created from.

    ``network``: ``bridge`` publishes the port on loopback, ``host`` shares the host's network, where the engine itself listens on loopback.
    ``devices``: ids of the device request, UUIDs for Docker's own driver and ``nvidia.com/gpu=UUID`` for CDI. Sizes in GiB.
    """

    socket: str
    name: str
    image: str
    network: Literal["bridge", "host"]
    mounts: tuple[Mount, ...]
    tmpfs: dict[str, str]
    device_driver: str
    devices: tuple[str, ...]
    ipc: str
    shm_gib: float | None
    ulimits: dict[str, int]
    labels: dict[str, str]
    image_id: str | None = None


@dataclass(frozen=True)
class LaunchPlan:
    """Everything that starting the engine needs; nothing is decided later. Times in seconds.

    ``expects``: effective settings that the arguments ask for (``kv_cache_dtype``, ``tensor_parallel``, ``moe_backend``…), compared with
    what the engine says of itself. ``key_file``: a file on the host with the key that the engine asks for; the key itself is in no plan.
    ``caveats``: ids of those that the recipe declares.
    """

    recipe: str
    engine: str
    runtime: Literal["docker", "process"]
    argv: tuple[str, ...]
    environment: dict[str, str]
    served_name: str
    snapshot: str
    host: str
    port: int
    start_s: float
    stop_s: float
    context_tokens: int
    max_requests: int
    roles: dict[str, str]
    container: ContainerStart | None = None
    expects: dict[str, str] = field(default_factory=dict)
    excludes: tuple[str, ...] = ()
    speculative: str = "off"
    key_file: str | None = None
    caveats: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The plan's hash; it stands in the engine's environment and names the engine's process."""
        return sha256_of(self)

    @property
    def base_url(self) -> str:
        """Where the engine answers."""
        return f"http://{self.host}:{self.port}"
