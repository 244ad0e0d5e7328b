# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recipe: a pinned candidate. The shape of ``[[recipe]]`` in ``playbooks/recipes/*.toml``; validated on the controller."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .profile import NAME, Profile
from .secret_forms import SECRET_ARGUMENT, SECRET_NAME
from .strict import FORBID_EXTRA

SET_SCHEMA = "tandem.recipe-set/v1"
REVISION, SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
DIGEST_IMAGE = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
#: Variables that belong to the contract or to the plan: a recipe may not set them.
CONTRACT_VARIABLE = re.compile(
    r"NCCL_(?!PROTO$|ALGO$)\w+|CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|PYTORCH_NO_CUDA_MEMORY_CACHING|NVIDIA_VISIBLE_DEVICES|"
    r"(HF|TRANSFORMERS)_(HUB_)?OFFLINE|VLLM_ALLREDUCE_USE_SYMM_MEM|VLLM_USE_NCCL_SYMM_MEM"
)
#: Environment variables a recipe may set, by engine. Names, or prefixes that end with ``*``.
ENVIRONMENT_ALLOWED: dict[str, tuple[str, ...]] = {
    "vllm": ("VLLM_*", "FLASHINFER_*", "TORCH_CUDA_ARCH_LIST", "NCCL_PROTO", "NCCL_ALGO"),
    "sglang": ("SGLANG_*", "SGL_*", "FLASHINFER_*", "TORCH_CUDA_ARCH_LIST", "NCCL_PROTO", "NCCL_ALGO"),
    "llama_cpp": ("GGML_*", "LLAMA_*", "OMP_NUM_THREADS"),
}
#: PyTorch's old and new name for the same settings; read by every engine that has PyTorch in it.
ALLOCATOR_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
#: Arguments that the launch plan writes itself.
PLANNED_ARGUMENTS = (
    "--model", "--model-path", "--revision", "--tokenizer-revision", "--served-model-name", "--alias", "--host", "--port",
    "--api-key", "--ctx-size", "--parallel", "-np", "-c", "-m", "--max-model-len", "--max-num-seqs", "--context-length",
    "--max-running-requests", "--trust-remote-code",
)  # fmt: skip
HOST_INDEX_ARGUMENTS = ("--gpus", "--device", "--base-gpu-id", "--gpu-id-step", "--main-gpu", "--tensor-split")
LABELS_THAT_NO_ARTIFACT_DECLARES = ("nvfp8",)


@dataclass(frozen=True)
class Model:
    """The weights: repository and exact revision.

    ``required_files``: files beside the weights that the engine can't do without. ``sha256``: file name -> hex digest, for caches without links.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    repo: str
    revision: str
    format: Literal["safetensors", "gguf"]
    file: str | None = None
    family: str | None = None
    quantization: str | None = None
    total_params_b: float | None = None
    active_params_b: float | None = None
    trust_remote_code: bool = False
    required_files: tuple[str, ...] = ()
    sha256: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not REVISION.fullmatch(self.revision):
            raise ValueError(
                f"revision {self.revision!r} is not a full commit: 40 hex digits in lower case are needed "
                "(a branch or a short hash moves; the full one is on the model's Files page)"
            )
        if self.format == "gguf" and not self.file:
            raise ValueError("format gguf needs file (the .gguf inside the snapshot)")
        wrong = next((name for name, digest in self.sha256.items() if not SHA256.fullmatch(digest)), None)
        if wrong:
            raise ValueError(f"sha256.{wrong} is not 64 hex digits in lower case")
        if (self.quantization or "").lower() in LABELS_THAT_NO_ARTIFACT_DECLARES:
            raise ValueError(f"quantization {self.quantization!r} is a label that no checkpoint declares")


@dataclass(frozen=True)
class DerivedImage:
    """A local image: base digest and an ordered patch set. ``published_digest`` is provenance, never what is run."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    base: str
    patch_set: str
    published_digest: str | None = None

    def __post_init__(self) -> None:
        if not DIGEST_IMAGE.fullmatch(self.base):
            raise ValueError(f"base {self.base!r} is not pinned: repository@sha256:<64 hex> is needed, a tag moves")


@dataclass(frozen=True)
class Engine:
    """The engine build: an image digest, a derived image, or a lock file for the process runtime."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    kind: Literal["vllm", "sglang", "llama_cpp"]
    version: str
    runtime: Literal["docker", "process"]
    image: str | None = None
    derived: DerivedImage | None = None
    lock: str | None = None
    entrypoint: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.image is not None and not DIGEST_IMAGE.fullmatch(self.image):
            raise ValueError(f"image {self.image!r} is not pinned: repository@sha256:<64 hex> is needed, a tag moves")
        pins = [name for name in ("image", "derived", "lock") if getattr(self, name) is not None]
        wanted = ("lock",) if self.runtime == "process" else ("image", "derived")
        if len(pins) != 1 or pins[0] not in wanted:
            raise ValueError(
                f"runtime {self.runtime} takes exactly one of {' or '.join(wanted)}, got {', '.join(pins) or 'none'}"
            )


@dataclass(frozen=True)
class Needs:
    """What the host has to have. Recipes name how many roles they need, never devices."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    roles: int = 1
    memory_gib: float = 0.0
    compute_capability: str | None = None
    link: str | None = None
    nodes: int = 1

    def __post_init__(self) -> None:
        if self.roles < 1 or self.nodes < 1:
            raise ValueError("needs.roles and needs.nodes are at least 1")


@dataclass(frozen=True)
class Limits:
    """Bounds: seconds, tokens, requests, GiB."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    start_s: float = 1800.0
    stop_s: float = 45.0
    context_tokens: int = 32768
    max_requests: int = 1
    shm_gib: float | None = None
    ipc: Literal["host", "private"] = "private"
    ulimits: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_requests != 1:
            raise ValueError("max_requests is 1: every lane admits one request at a time")


@dataclass(frozen=True)
class DeclaredCaveat:
    """A caveat known beforehand, carried into the verdict."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    id: str
    text: str
    source: str | None = None


@dataclass(frozen=True)
class Control:
    """Marks a negative control: what has to happen to it, and at which gate."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    expect: Literal["rejected"]
    at: Literal["functional", "quality"]


@dataclass(frozen=True)
class Recipe:
    """A pinned candidate. ``args`` are ordered groups, each a flag with its values."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    name: str
    model: Model
    engine: Engine
    profile: tuple[Profile, ...]
    args: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    needs: Needs = Needs()
    limits: Limits = Limits()
    speculative: Literal["off"] = "off"
    excludes: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    baseline: str | None = None
    caveats: tuple[DeclaredCaveat, ...] = ()
    sources: tuple[str, ...] = ()
    control: Control | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name!r}: lower-case letters, digits, '.', '_' and '-' only, 96 at most")
        if not self.profile:
            raise ValueError("at least one [[recipe.profile]] is needed")
        names = [profile.name for profile in self.profile]
        if len(set(names)) != len(names):
            raise ValueError("profile names are not unique")
        _check_environment(self.engine.kind, self.env)
        _check_arguments(self.args)
        for profile in self.profile:
            for gate, tokens in profile.timed():
                if tokens > self.limits.context_tokens:
                    raise ValueError(
                        f"profile {profile.name}: {gate} at {tokens} tokens is beyond "
                        f"limits.context_tokens = {self.limits.context_tokens}"
                    )

    def protocols(self) -> tuple[str, ...]:
        """Names of all protocols that this recipe uses, each once, in order."""
        return tuple(dict.fromkeys(name for profile in self.profile for name in profile.protocols()))


def _check_environment(engine: str, env: dict[str, str]) -> None:
    for name, value in env.items():
        if SECRET_NAME.search(name):
            raise ValueError(
                f"env.{name} looks like a secret; a recipe holds none (give the engine a key file on the host)"
            )
        if CONTRACT_VARIABLE.fullmatch(name):
            raise ValueError(f"env.{name} belongs to the contract, which follows from the host's facts; remove it")
        if name in ALLOCATOR_VARIABLES and engine != "llama_cpp":
            if not is_native_allocator(value):
                raise ValueError(
                    f"env.{name} = {value!r}: only PyTorch's native allocator goes with tensor parallelism "
                    "(no expandable_segments:True, no other backend); remove that part"
                )
            continue
        allowed = ENVIRONMENT_ALLOWED[engine]
        if not any(name == item or (item.endswith("*") and name.startswith(item[:-1])) for item in allowed):
            raise ValueError(f"env.{name} is not among the variables known for {engine}: {', '.join(allowed)}")


def is_native_allocator(value: str) -> bool:
    """The default allocator: no segments that grow, no other backend. Sizes and thresholds are harmless."""
    text = value.lower().replace(" ", "")
    return (
        "expandable_segments:true" not in text and ("backend:" not in text or "backend:native" in text) and text != "1"
    )


def _check_arguments(args: tuple[tuple[str, ...], ...]) -> None:
    for group in args:
        if not group or not group[0].startswith("-"):
            raise ValueError(
                f"args: {list(group)!r} is no group; each begins with its flag, like ['--kv-cache-dtype', 'fp8']"
            )
        if " " in group[0].split("=", 1)[0]:
            flag, value = group[0].split(" ", 1)
            raise ValueError(
                f"args: {group[0]!r} is a flag and its value in one string; write [{flag!r}, {value.strip()!r}]"
            )
        flag = group[0].split("=", 1)[0]
        if flag not in PLANNED_ARGUMENTS and SECRET_ARGUMENT.search(flag):
            raise ValueError(
                f"args: {flag} gives a secret; a recipe holds none (give the engine a key file on the host)"
            )
        if flag in HOST_INDEX_ARGUMENTS:
            raise ValueError(
                f"args: {flag} names devices of a host; a recipe only says needs.roles, the inventory maps them"
            )
        if flag in PLANNED_ARGUMENTS:
            raise ValueError(f"args: {flag} is written by the launch plan; remove it")
