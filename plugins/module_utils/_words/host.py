# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory declares of a host, and what was observed on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .secret_forms import SECRET_ARGUMENT
from .strict import FORBID_EXTRA

#: What each kind of service can't do without. A command has no process of its own to look at, so its health says whether it runs.
NEEDED = {"container": ("name",), "systemd": ("unit",), "process": ("argv",), "command": ("start", "stop", "health")}
RuntimeName = Literal["docker", "process"]
DOCKER_SOCKET = "/var/run/docker.sock"


@dataclass(frozen=True)
class Role:
    """One GPU role: a device by UUID, or ``kind: cpu`` on a host without GPUs. ``memory_gb_s``: its memory's bandwidth, for the report's roofline."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    uuid: str | None = None
    kind: Literal["gpu", "cpu"] = "gpu"
    memory_gb_s: float | None = None

    def __post_init__(self) -> None:
        if self.memory_gb_s is not None and not self.memory_gb_s > 0:
            raise ValueError(
                f"memory_gb_s is {self.memory_gb_s:g}: a bandwidth in GB/s is more than 0; leave it out where it is not known"
            )
        if self.kind == "gpu" and not (self.uuid or "").startswith("GPU-"):
            raise ValueError(
                "a role names its device by uuid (GPU-…, from `nvidia-smi -L`), never by index; or kind: cpu"
            )

    @property
    def device(self) -> str:
        """The device in one word."""
        return self.uuid or self.kind


@dataclass(frozen=True)
class Health:
    """How a service shows that it serves: an address that answers 200, or a command that exits with 0."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    url: str | None = None
    command: tuple[str, ...] = ()
    start_s: float = 120.0

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.command):
            raise ValueError("health takes either url or command")


@dataclass(frozen=True)
class HttpCall:
    """One request of a router's own admission interface; ``{url}`` in path and body stands for the worker's address."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    path: str
    method: Literal["GET", "POST", "PUT", "DELETE"] = "POST"
    body: dict[str, Any] | None = None


@dataclass(frozen=True)
class HttpRouter:
    """A router described by its requests. ``workers_at`` is where the listing holds the addresses: ``workers.*.url``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    list: HttpCall
    workers_at: str
    drain: HttpCall
    readmit: HttpCall


@dataclass(frozen=True)
class Admission:
    """The interface by which a router admits workers. ``default: false`` marks an address the user named explicitly.

    ``key_file`` opens the admission interface, ``data_key_file`` the requests (sglang-router keeps the two apart; default: the same),
    ``worker_key_file`` the workers. ``proof`` says what shows that a worker is admitted again: its own request counter rises (``counter``), its model answers
    (``model``), or the router lists it (``listed``). ``when_drain_ends``: what happens to requests that still run after ``drain_s``.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    api: Literal["sglang", "vllm", "http"]
    url: str
    key_file: str | None = None
    data_key_file: str | None = None
    worker_key_file: str | None = None
    default: bool = True
    drain_s: float = 60.0
    when_drain_ends: Literal["cut", "refuse"] = "cut"
    proof: Literal["counter", "model", "listed"] = "counter"
    http: HttpRouter | None = None

    def __post_init__(self) -> None:
        if (self.api == "http") != (self.http is not None):
            raise ValueError("admission.http (list, workers_at, drain, readmit) belongs to api: http, and to no other")


@dataclass(frozen=True)
class Service:
    """Something the owner runs outside campaigns. ``worker_url`` is how a router calls it (default: health's origin)."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    kind: Literal["container", "systemd", "process", "command"]
    name: str | None = None
    unit: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str | None = None
    env_file: str | None = None
    match: str | None = None
    start: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    log: str | None = None
    roles: tuple[str, ...] = ()
    in_exclusive: Literal["stopped", "drained"] | None = None
    health: Health | None = None
    needs: tuple[str, ...] = ()
    stop_s: float = 30.0
    worker_url: str | None = None
    admission: Admission | None = None

    def __post_init__(self) -> None:
        missing = [option for option in NEEDED[self.kind] if not getattr(self, option)]
        if missing:
            raise ValueError(f"a service of kind {self.kind} needs {' and '.join(missing)}")
        secret = next((item for item in (*self.argv, *self.start, *self.stop) if SECRET_ARGUMENT.search(item)), None)
        if secret is not None:
            raise ValueError(
                f"{secret.split('=')[0]} on a command line shows a secret to everybody on the host, and it would stand in the evidence; "
                "give it in env_file or in a file that the program reads"
            )
        if self.when_exclusive == "drained" and self.admission is None:
            raise ValueError("in_exclusive: drained needs admission (how the router is told)")

    @property
    def when_exclusive(self) -> str:
        """``stopped`` or ``drained``; a router without GPU roles is drained unless it says otherwise."""
        return self.in_exclusive or ("drained" if self.admission and not self.roles else "stopped")


@dataclass(frozen=True)
class Mode:
    """The services that a mode runs."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    services: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cache:
    """Where the Hugging Face hub cache is: a folder of the host, or a Docker volume. ``hub`` is its folder inside the volume, if not its root."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    path: str | None = None
    volume: str | None = None
    hub: str = ""

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.volume):
            raise ValueError("campaign_cache takes either path or volume")
        if self.hub and (self.path or self.hub.startswith("/") or ".." in self.hub.split("/")):
            raise ValueError("campaign_cache.hub is a folder inside the volume, like hub; a path names the hub itself")


@dataclass(frozen=True)
class EngineEnvironment:
    """A Python environment on the host that holds an engine, for the process runtime."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    python: str


@dataclass(frozen=True)
class Rehearsal:
    """A dress rehearsal: every lane's engine is played by ``program``, started with ``python``. ``behaviours``: a folder with ``<recipe>.toml``.

    ``time_scale`` replaces the behaviours' own. All evidence is marked ``simulated`` and never comes near a measured lane's key.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    python: str
    program: str
    behaviours: str
    time_scale: float | None = None


@dataclass(frozen=True)
class HostDeclaration:
    """The host as the inventory declares it, validated.

    ``gpu_idle_mib``: what a device may use and still count as free. ``gpu_release_s``: how long freeing it may take.
    ``route_files``: files of aliases and routes, whose content is compared before and after.
    ``docker_network``: how an engine's port gets to the host's loopback. ``docker_gpus``: who serves the GPU request, Docker's nvidia driver or CDI.
    ``engine_key_file``: a file on the host with the key that the engine asks for; empty where it asks for none.
    ``rehearsal``: engines are played here; roles are then ``kind: cpu``, as a rehearsal takes no GPU.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    gpu_roles: dict[str, Role]
    services: dict[str, Service]
    modes: dict[str, Mode]
    cache: Cache
    state_dir: str
    lock_path: str
    lease_s: float
    port: int
    engine_environments: dict[str, EngineEnvironment] = field(default_factory=dict)
    min_free_gib: float = 1.0
    docker_socket: str = DOCKER_SOCKET
    route_files: tuple[str, ...] = ()
    gpu_idle_mib: int = 2500
    gpu_release_s: float = 180.0
    docker_network: Literal["bridge", "host"] = "bridge"
    docker_gpus: Literal["nvidia", "cdi"] = "nvidia"
    engine_key_file: str | None = None
    rehearsal: Rehearsal | None = None

    def __post_init__(self) -> None:
        gpus = [name for name, role in self.gpu_roles.items() if role.kind != "cpu"]
        if self.rehearsal and gpus:
            raise ValueError(f"rehearsal plays engines without GPUs; role {gpus[0]!r} has to be kind: cpu")
        for name, service in self.services.items():
            for role in service.roles:
                if role not in self.gpu_roles:
                    raise ValueError(f"service {name}: role {role!r} is not declared in campaign_gpu_roles")
            for other in service.needs:
                if other not in self.services:
                    raise ValueError(f"service {name}: needs {other!r}, which is not declared in campaign_services")
        for name, mode in self.modes.items():
            for service_name in mode.services:
                if service_name not in self.services:
                    raise ValueError(
                        f"campaign_modes.{name}: unknown service {service_name!r} "
                        f"(declared in campaign_services: {', '.join(sorted(self.services)) or 'none'})"
                    )

    def runtime_of(self, declared: RuntimeName) -> RuntimeName:
        """What starts an engine here: what its recipe declares, and in a rehearsal always a process."""
        return "process" if self.rehearsal else declared


@dataclass(frozen=True)
class Gpu:
    """One device as nvidia-smi lists it. Memory in MiB, power in W; what the driver doesn't say is None."""

    index: int
    name: str
    uuid: str
    bus_id: str
    driver: str
    memory_total_mib: int | None
    memory_used_mib: int | None
    power_limit_w: float | None
    compute_capability: str | None


@dataclass(frozen=True)
class DockerFacts:
    """What a Docker Engine is. ``kernel`` is the daemon's, which runs the containers; ``oldest_api`` is what it still speaks.

    ``platform``: the product around it, with its version (Docker Desktop's).
    """

    version: str
    api: str
    oldest_api: str | None
    kernel: str
    system: str
    architecture: str
    desktop: bool
    wsl2: bool
    rootless: bool
    podman: bool
    storage: str | None
    runtimes: tuple[str, ...]
    cdi_devices: tuple[str, ...]
    platform: str | None = None


@dataclass(frozen=True)
class HostFacts:
    """What was observed on a host, or assumed from ``campaign_host_class`` when only inspecting (``observed: false``).

    ``link``: the farthest between any two GPUs, ``links`` each pair by UUID. ``peer_access``: whether the driver lets every pair read each other's memory.
    ``windows``: its version, below WSL2. ``docker_client``: of the command on this host, which may be another than the engine's.
    """

    observed: bool
    wsl2: bool
    link: str | None
    peer_access: bool | None = None
    gpus: tuple[Gpu, ...] = ()
    kernel: str | None = None
    cpu_model: str | None = None
    cpu_count: int | None = None
    memory_gib: float | None = None
    shm_gib: float | None = None
    python: str | None = None
    user: str | None = None
    links: tuple[dict[str, str], ...] = ()
    windows: str | None = None
    docker_client: str | None = None
    docker: DockerFacts | None = None
    docker_problem: str | None = None
