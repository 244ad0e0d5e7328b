# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in the way of a lane, or of every lane on a host: found before anything is touched, said with the way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils._cache.quantization import Quantization, label_problem
from ..module_utils._engine.adapters import ADAPTERS, COLLECTIVES
from ..module_utils._engine.container_spec import image_name
from ..module_utils._engine.spec import FLAGS, assign_roles
from ..module_utils._host.docker_facts import engine_problems
from ..module_utils._images.image import repeated_entrypoint
from ..module_utils._words.documents import from_document
from ..module_utils._words.errors import CampaignError, RefusedError
from ..module_utils._words.host import HostDeclaration, HostFacts
from ..module_utils._words.plan import LaunchPlan
from ..module_utils._words.recipe import Recipe
from .lane import Lane, Observed


def refuse_what_is_not_built(lane: Lane) -> None:
    recipe = lane.found.recipe
    unbuilt = [
        (recipe.engine.kind not in ADAPTERS, f"engine {recipe.engine.kind!r}"),
        (
            recipe.needs.roles > 1 and recipe.engine.kind not in COLLECTIVES,
            f"the proof of a transport between several GPUs for {recipe.engine.kind}",
        ),
        (recipe.needs.nodes > 1, "an engine over several nodes"),
        (bool(lane.missing_protocols), f"protocol {', '.join(lane.missing_protocols)}"),
        (bool(recipe.requires), "requires (baseline lanes)"),
    ]
    for wanted, what in unbuilt:
        if wanted:
            raise RefusedError(
                f"{what} is not in this version of the collection; --tags inspect prints the lane's plan", not_run=True
            )


def refuse_what_the_host_lacks(lane: Lane, host: HostDeclaration, observed: Observed, pins: dict[str, str]) -> None:
    recipe = lane.found.recipe
    refuse_devices(recipe, host, observed.facts)
    if errors := [finding.sentence() for finding in lane.findings if finding.severity == "error"]:
        raise RefusedError("; ".join(errors))
    if host.rehearsal:
        return
    if recipe.engine.runtime == "docker":
        _refuse_docker(lane, host, observed.facts)
    _check_environment(recipe.engine.kind, pins, observed)
    if lane.weights is None:
        raise RefusedError(f"the snapshot of {recipe.model.repo} was not verified")
    if lane.weights["problems"]:
        texts = lane.weights["texts"]
        more = f" (and {len(texts) - 3} more)" if len(texts) > 3 else ""
        raise RefusedError(
            f"snapshot {recipe.model.repo}@{recipe.model.revision}: {'; '.join(texts[:3])}{more}. "
            "Nothing is fetched here; complete this revision first (docs/usage.md, Weights)"
        )
    _refuse_checkpoint(lane)


def _refuse_checkpoint(lane: Lane) -> None:
    """A label that the checkpoint doesn't declare, and weights beyond all the memory there is. Every other estimate is advice."""
    checkpoint = (lane.weights or {}).get("checkpoint")
    if checkpoint:
        declared = from_document(Quantization, checkpoint["quantization"])
        if problem := label_problem(lane.found.recipe.model.quantization, declared):
            raise RefusedError(problem)
    if lane.fit and lane.fit.refused:
        raise RefusedError(f"recipe {lane.found.recipe.name} can't fit: {lane.fit.reason}")


def refuse_devices(recipe: Recipe, host: HostDeclaration, facts: HostFacts) -> None:
    """Every role the recipe needs has its own device, and each of them is on this host. More devices than needed are fine."""
    known = {gpu.uuid for gpu in facts.gpus}
    roles = assign_roles(recipe, host)
    missing = [f"role {name}: no device {device}" for name, device in roles.items() if device not in (*known, "cpu")]
    if missing:
        raise RefusedError(
            f"recipe {recipe.name} needs {len(roles)} GPUs, {len(roles) - len(missing)} of {len(roles)} are on this host: "
            f"{'; '.join(missing)} (nvidia-smi lists {', '.join(sorted(known)) or 'none'})"
        )
    gpus = [device for device in roles.values() if device != "cpu"]
    if len(set(gpus)) != len(gpus):
        raise RefusedError(f"recipe {recipe.name} needs {len(roles)} GPUs, and two of its roles have the same device")


def _refuse_docker(lane: Lane, host: HostDeclaration, facts: HostFacts) -> None:
    """The engine can run containers, and the lane's image is there, is what it says and gets its devices."""
    if facts.docker is None:
        raise RefusedError(facts.docker_problem or f"the Docker Engine at {host.docker_socket} was not asked")
    gpus = any(device != "cpu" for device in assign_roles(lane.found.recipe, host).values())
    if problems := engine_problems(facts.docker, gpus=gpus, cdi=host.docker_gpus == "cdi"):
        raise RefusedError("; ".join(problems))
    if lane.image is None:
        raise RefusedError(f"image {image_name(lane.found.recipe)} was not verified")
    if lane.image["problems"]:
        raise RefusedError("; ".join(lane.image["problems"]))


def refuse_entrypoint(plan: LaunchPlan, image: Mapping[str, Any]) -> None:
    repeated = repeated_entrypoint(image.get("entrypoint") or [], plan.argv)
    if repeated:
        raise RefusedError(
            f"recipe {plan.recipe}: its start repeats the image's entrypoint: the argument {repeated!r} would be rejected; "
            "engine.entrypoint names the whole program once"
        )


def _check_environment(kind: str, pins: dict[str, str], observed: Observed) -> None:
    if kind not in FLAGS or not pins:
        return
    environment = observed.engine_environments.get(kind)
    if environment is None:
        raise RefusedError(
            f"campaign_engine_environments.{kind}.python is not set; the process runtime starts the engine from it"
        )
    if environment["problem"]:
        raise RefusedError(f"campaign_engine_environments.{kind}.python: {environment['problem']}")
    for name, version in pins.items():
        found = environment["distributions"].get(name)
        if found != version:
            raise RefusedError(
                f"engine environment of {kind}: {name} is {found or 'not installed'}, the recipe's lock pins {version}; "
                f"install it there with pip install {name}=={version}"
            )


def host_problems(host: HostDeclaration, report: Mapping[str, Any], *, takeover: bool) -> list[str]:
    """What stands in the way of every lane, from ``host_facts``. With ``takeover`` an unresolved reservation is the mode's business."""
    problems = []
    state = report["state_dir"]
    if not state["writable"]:
        problems.append(
            f"campaign_state_dir {state['path']} can't be written by {report['facts']['user']}; choose another or change its owner"
        )
    elif state["free_gib"] < host.min_free_gib:
        problems.append(
            f"campaign_state_dir {state['path']} has {state['free_gib']:.2f} GiB free, evidence needs {host.min_free_gib:g} (campaign_min_free_gib)"
        )
    if not report["port_free"]:
        models = report.get("port_models")
        answer = f" (what answers there lists {', '.join(map(str, models))})" if models else ""
        problems.append(f"port {host.port} is taken on this host{answer}; free it or set campaign_port")
    reservation = report.get("reservation")
    if reservation and not takeover:
        problems.append(
            f"campaign {reservation['campaign']!r} took this host at {reservation['since']} and has not given it back. If it is not running any more: "
            "ansible-playbook tandem.campaign.restore -l <this host>. With campaign_takeover: true a campaign does that itself first, if its keeper is gone"
        )
    python = tuple(int(part) for part in str(report["facts"]["python"]).split(".")[:2])
    if python < (3, 10):
        problems.append(
            f"the host's Python is {report['facts']['python']}, 3.10 or newer is needed (ansible_python_interpreter)"
        )
    return problems


def fatal(problems: list[str]) -> CampaignError:
    """One error for all of it."""
    return RefusedError("; ".join(problems), problems=problems)
