# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipe × host × contract -> launch plan. Pure: the same inputs give the same plan, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

from .._host.container_cache import container_hub
from .._words.errors import RefusedError
from .._words.host import HostDeclaration, Rehearsal
from .._words.plan import Contract, LaunchPlan
from .._words.recipe import Recipe
from .container_spec import REMOTE_CODE_FOLDER, container_start
from .expects import expected_settings

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
#: Our launcher inside an image that has it (see tools/demo_image.py).
CONTAINER_PROGRAM = "/opt/tandem/llama-cpp-server"
#: What starts the engine where the recipe names no entrypoint. The plan's first word replaces the image's own entrypoint, so that the
#: start is whole and known without the image; a wrapper that an image needs stands in the recipe's entrypoint.
DEFAULT_ENTRYPOINT = {
    "vllm": ("python3", "-m", "vllm.entrypoints.openai.api_server"),
    "sglang": ("python3", "-m", "sglang.launch_server"),
    "llama_cpp": (CONTAINER_PROGRAM,),
}


@dataclass(frozen=True)
class EngineFlags:
    """How an engine is told what the plan decides. An empty flag is not written."""

    model: str
    name: str
    context: str
    admission: str
    revisions: tuple[str, ...]
    remote_code: str


FLAGS = {
    "vllm": EngineFlags(
        "--model",
        "--served-model-name",
        "--max-model-len",
        "--max-num-seqs",
        ("--revision", "--tokenizer-revision"),
        "--trust-remote-code",
    ),
    "sglang": EngineFlags(
        "--model-path",
        "--served-model-name",
        "--context-length",
        "--max-running-requests",
        ("--revision",),
        "--trust-remote-code",
    ),
    "llama_cpp": EngineFlags("--model", "--alias", "--ctx-size", "--parallel", (), ""),
}


def snapshot_folder(hub: str, repo: str, revision: str) -> str:
    """The snapshot's folder inside a Hugging Face hub cache."""
    return f"{hub}/models--{repo.replace('/', '--')}/snapshots/{revision}"


def assign_roles(recipe: Recipe, host: HostDeclaration) -> dict[str, str]:
    """Role name -> device for as many roles as the recipe needs, in the inventory's order."""
    names = list(host.gpu_roles)
    if recipe.needs.roles > len(names):
        raise RefusedError(
            f"recipe {recipe.name} needs {recipe.needs.roles} roles, the host declares {len(names)} in campaign_gpu_roles",
            recipe=recipe.name,
        )
    return {name: host.gpu_roles[name].device for name in names[: recipe.needs.roles]}


def launch_plan(
    recipe: Recipe,
    host: HostDeclaration,
    contract: Contract,
    *,
    launchers: dict[str, str],
    image_id: str | None = None,
) -> LaunchPlan:
    """Renders the start. ``launchers`` maps an engine kind to the program that the process runtime starts it with; ``image_id`` is proven before."""
    flags = FLAGS[recipe.engine.kind]
    runtime = host.runtime_of(recipe.engine.runtime)
    in_container = runtime == "docker"
    hub = container_hub(host.cache) if in_container else host.cache.path
    if hub is None:
        raise RefusedError(
            f"recipe {recipe.name}: the process runtime needs campaign_cache.path, a volume is Docker's",
            recipe=recipe.name,
        )
    snapshot = snapshot_folder(hub, recipe.model.repo, recipe.model.revision)
    model = f"{snapshot}/{recipe.model.file}" if recipe.model.format == "gguf" else snapshot
    arguments: list[str] = [flags.model, model, flags.name, recipe.name]
    for flag in flags.revisions:
        arguments += [flag, recipe.model.revision]
    if recipe.model.trust_remote_code and flags.remote_code:
        arguments.append(flags.remote_code)
    arguments += [flags.context, str(recipe.limits.context_tokens), flags.admission, str(recipe.limits.max_requests)]
    for group in recipe.args:
        arguments += group
    shared_network = not in_container or host.docker_network == "host"
    arguments += ["--host", "127.0.0.1" if shared_network else "0.0.0.0", "--port", str(host.port)]
    environment = {**recipe.env, **OFFLINE, **contract.variables()}
    if in_container:
        environment["HF_HUB_CACHE"] = hub
        if recipe.model.trust_remote_code:
            environment["HF_MODULES_CACHE"] = REMOTE_CODE_FOLDER
    roles = assign_roles(recipe, host)
    return LaunchPlan(
        recipe=recipe.name,
        engine=recipe.engine.kind,
        runtime=runtime,
        argv=(*_program(recipe, host, launchers), *arguments),
        environment=dict(sorted(environment.items())),
        served_name=recipe.name,
        snapshot=snapshot,
        host="127.0.0.1",
        port=host.port,
        start_s=recipe.limits.start_s,
        stop_s=recipe.limits.stop_s,
        context_tokens=recipe.limits.context_tokens,
        max_requests=recipe.limits.max_requests,
        roles=roles,
        container=container_start(recipe, host, roles.values(), image_id) if in_container else None,
        expects=expected_settings(recipe),
        excludes=recipe.excludes,
        speculative=recipe.speculative,
        key_file=host.engine_key_file,
        caveats=tuple(caveat.id for caveat in recipe.caveats),
    )


def _program(recipe: Recipe, host: HostDeclaration, launchers: dict[str, str]) -> tuple[str, ...]:
    kind = recipe.engine.kind
    if host.rehearsal:
        return _played(recipe.name, host.rehearsal)
    if recipe.engine.runtime == "docker":
        return recipe.engine.entrypoint or DEFAULT_ENTRYPOINT[kind]
    environment = host.engine_environments.get(kind)
    if environment is None:
        raise RefusedError(
            f"recipe {recipe.name}: campaign_engine_environments.{kind}.python is not set; the process runtime starts the engine from it",
            recipe=recipe.name,
        )
    if kind in launchers:
        return (environment.python, launchers[kind])
    return (environment.python, *DEFAULT_ENTRYPOINT[kind][1:])


def _played(recipe: str, rehearsal: Rehearsal) -> tuple[str, ...]:
    behaviour = ("--behaviour", f"{rehearsal.behaviours}/{recipe}.toml")
    scale = ("--time-scale", f"{rehearsal.time_scale:g}") if rehearsal.time_scale is not None else ()
    return (rehearsal.python, rehearsal.program, *behaviour, *scale)
