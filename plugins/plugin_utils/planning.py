# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides, before anything is touched: for every lane its contract, launch plan, identity and key, and whether it may run. Pure but for reading files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..module_utils._engine.container_spec import image_name
from ..module_utils._engine.expects import expected_settings
from ..module_utils._engine.spec import assign_roles, launch_plan
from ..module_utils._host.findings import contract_findings
from ..module_utils._host.fit import Fit, estimate_fit
from ..module_utils._host.rules import Need, contract_for
from ..module_utils._words.documents import sha256_of, to_document
from ..module_utils._words.errors import RefusedError
from ..module_utils._words.host import HostDeclaration, HostFacts, RuntimeName
from ..module_utils._words.identity import Identity, LaneKeyParts, lane_key
from ..module_utils._words.plan import LaunchPlan
from ..module_utils._words.recipe import Recipe
from .lane import Lane, Observed
from .patch_sets import read_patch_set
from .recipes import FoundRecipe, check_gates, read_lock, read_protocol
from .refusals import refuse_entrypoint, refuse_what_is_not_built, refuse_what_the_host_lacks
from .sources import sources_of

#: In place of a snapshot's report: nothing of it is read in a rehearsal, and its lanes' keys say so.
NOT_READ: Mapping[str, Any] = {
    "proof": "rehearsal",
    "reason": "a rehearsal reads no weights; nothing is proven about this snapshot",
    "problems": [],
    "texts": [],
}


def host_class(facts: HostFacts, host: HostDeclaration, runtime: RuntimeName, roles: int) -> dict[str, Any]:
    """GPU model × n, driver, runtime; for CPU roles the CPU instead. A rehearsal is a class of its own."""
    devices = [role.device for role in list(host.gpu_roles.values())[:roles]]
    by_uuid = {gpu.uuid: gpu for gpu in facts.gpus}
    gpus = [by_uuid[device].name for device in devices if device in by_uuid]
    drivers = sorted({by_uuid[device].driver for device in devices if device in by_uuid})
    cpu = {"model": facts.cpu_model, "count": facts.cpu_count} if "cpu" in devices else None
    return {
        "gpus": gpus,
        "roles": roles,
        "driver": drivers,
        "cpu": cpu,
        "runtime": host.runtime_of(runtime),
        "simulated": host.rehearsal is not None,
    }


def decide(
    found: FoundRecipe,
    host: HostDeclaration,
    observed: Observed,
    base: Identity,
    launchers: dict[str, str],
    *,
    inspecting: bool,
) -> Lane:
    """One lane. Raises :class:`InputError` for what is wrong in the text; what the host can't do becomes a refusal."""
    recipe = found.recipe
    protocols = {name: protocol for name in recipe.protocols() if (protocol := read_protocol(name)) is not None}
    missing = tuple(name for name in recipe.protocols() if name not in protocols)
    check_gates(found, protocols)
    sources_of(found)
    patch_set = read_patch_set(found) if recipe.engine.derived else None
    container = host.runtime_of(recipe.engine.runtime) == "docker"
    image = observed.images.get(image_name(recipe)) if container else None
    devices = tuple(role.device for role in list(host.gpu_roles.values())[: recipe.needs.roles])
    need = Need(observed.facts, recipe, devices, (image or {}).get("environment") or {})
    contract = contract_for(need)
    pins, lock_sha256 = read_lock(found) if recipe.engine.lock else ({}, None)
    engine_build = {
        "kind": recipe.engine.kind,
        "version": recipe.engine.version,
        "image": recipe.engine.image,
        "lock_sha256": lock_sha256,
    }
    if patch_set:
        engine_build |= {"image": image_name(recipe), "patch_set_sha256": patch_set[1]}
    weights = NOT_READ if host.rehearsal else observed.snapshots.get((recipe.model.repo, recipe.model.revision))
    identity = base.learned(
        recipe=recipe.name,
        recipe_sha256=sha256_of(recipe),
        engine=engine_build,
        contract_sha256=sha256_of(contract),
        protocols={name: protocol.sha256 for name, protocol in protocols.items()},
    )
    fit = fit_of(recipe, weights, devices, observed.facts)
    findings = () if host.rehearsal else contract_findings(need, contract)
    lane = Lane(
        found, protocols, missing, contract, None, identity, None, weights, image, patch_set, fit=fit, findings=findings
    )
    try:
        if not inspecting:
            refuse_what_is_not_built(lane)
            refuse_what_the_host_lacks(lane, host, observed, pins)
        plan = launch_plan(recipe, host, contract, launchers=launchers, image_id=(image or {}).get("id"))
        if not inspecting and image is not None:
            refuse_entrypoint(plan, image)
    except RefusedError as exc:
        outcome = "not_run" if exc.facts.get("not_run") else "infrastructure"
        return replace(lane, refusal=str(exc), outcome_if_refused=outcome)
    return _keyed(lane, host, observed, plan)


def _keyed(lane: Lane, host: HostDeclaration, observed: Observed, plan: LaunchPlan) -> Lane:
    """Identity and key of a lane that may run; a weights proof is needed for a key."""
    recipe = lane.found.recipe
    topology = host_class(observed.facts, host, recipe.engine.runtime, recipe.needs.roles)
    identity = lane.identity.learned(
        roles={name: "cpu" if device == "cpu" else name for name, device in assign_roles(recipe, host).items()},
        topology_sha256=sha256_of(topology),
        plan_sha256=plan.sha256,
    )
    if lane.weights is None or lane.weights.get("proof") is None or lane.missing_protocols:
        return replace(lane, plan=plan, identity=identity, topology=topology)
    key = lane_key(
        LaneKeyParts(
            recipe=to_document(recipe),
            weights=str(lane.weights["proof"]),
            engine=dict(lane.identity.engine or {}),
            contract=to_document(lane.contract),
            protocols={name: protocol.sha256 for name, protocol in lane.protocols.items()},
            host_class=topology,
        )
    )
    proven = {} if host.rehearsal else {"weights_sha256": lane.weights["proof"]}
    return replace(lane, plan=plan, key=key, identity=identity.learned(lane_key=key, **proven), topology=topology)


def fit_of(recipe: Recipe, weights: Mapping[str, Any] | None, devices: tuple[str, ...], facts: HostFacts) -> Fit | None:
    """None without GPUs, or before the snapshot was looked at."""
    if weights is None or not devices or "cpu" in devices:
        return None
    memory = {gpu.uuid: gpu.memory_total_mib for gpu in facts.gpus}
    ranks = expected_settings(recipe).get("tensor_parallel", "1")
    sizes = [memory.get(device) for device in devices]
    return estimate_fit(recipe, weights.get("checkpoint"), sizes, int(ranks) if ranks.isdigit() else 1)
