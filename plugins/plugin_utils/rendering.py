# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lane's plan as lines for people: what ``--tags inspect`` and ``--check --diff`` print."""

from __future__ import annotations

import datetime
import shlex

from ..module_utils._words.plan import ContainerStart, LaunchPlan
from .lane import Lane
from .sources import source_lines


def lane_lines(host: str, lane: Lane) -> list[str]:
    """Pins, needs, the whole start, the contract with its reasons, the gates; then what stands in the way."""
    recipe = lane.found.recipe
    model, engine = recipe.model, recipe.engine
    lines = [
        "",
        f"{host} | {recipe.name}",
        f"  model     {model.repo}@{model.revision} ({model.quantization or 'quantization not declared'})",
        f"  engine    {engine.kind} {engine.version}, runtime {engine.runtime}",
    ]
    if engine.image:
        lines.append(f"  image     {engine.image}")
    if engine.derived:
        lines.append(
            f"  image     {engine.derived.base} + patch set {engine.derived.patch_set} (published as {engine.derived.published_digest or 'nothing'})"
        )
    if lane.patch_set:
        patch_set, sha256 = lane.patch_set
        lines.append(
            f"  patches   {sha256[:16]}, {'proven against ' + patch_set.proven if patch_set.proven else f'UNPROVEN: {patch_set.unproven}'}"
        )
        lines += [
            f"            {patch.file or patch.wheel}: {patch.reason} (in effect: {patch.gate})"
            for patch in patch_set.patch
        ]
    if engine.lock:
        lines.append(f"  lock      {engine.lock}")
    needs, limits = recipe.needs, recipe.limits
    lines.append(
        f"  needs     {needs.roles} roles, {needs.memory_gib:g} GiB each, compute capability {needs.compute_capability or 'any'}, link {needs.link or 'any'}"
    )
    lines.append(
        f"  limits    start {limits.start_s:g} s, stop {limits.stop_s:g} s, {limits.context_tokens} tokens of context, {limits.max_requests} request at a time"
    )
    if lane.plan:
        lines += _start(lane.plan)
    for rule in lane.contract.environment:
        lines.append(f"  contract  {rule.name}={rule.value}  ({rule.reason})")
    for rule in lane.contract.arguments:
        lines.append(f"  contract  {rule.name}  ({rule.reason})")
    lines += [f"  {finding.severity:<9} {finding.sentence()}" for finding in lane.findings]
    if lane.fit:
        lines.append(f"  fit       {lane.fit.verdict}: {lane.fit.reason} (an estimate)")
    for profile in recipe.profile:
        lines.append(
            f"  profile   {profile.name}: reasoning {profile.reasoning.mode}{f' {profile.reasoning.effort}' if profile.reasoning.effort else ''}"
        )
        functional = profile.functional
        lines.append(f"            {functional.protocol} required: {', '.join(functional.required)}")
        lines.append(f"            {functional.protocol} advisory: {', '.join(functional.advisory) or 'none'}")
        if profile.quality:
            lines.append(
                f"            {profile.quality.protocol} {profile.quality.visible_tokens} visible + {profile.quality.reasoning_tokens} reasoning tokens"
            )
        for capacity in profile.capacity:
            asked = f"{capacity.requests} requests after {capacity.warmup}, {capacity.max_tokens} tokens at most"
            lines.append(f"            {capacity.protocol} {capacity.context_tokens} tokens, {asked}")
        if burst := profile.burst:
            asked = f"{burst.concurrency} requests together after one alone, {burst.max_tokens} tokens at most (a diagnostic)"
            lines.append(f"            {burst.protocol} {burst.context_tokens} tokens, {asked}")
    lines += source_lines(lane.found, datetime.date.today())
    for caveat in recipe.caveats:
        lines.append(f"  caveat    {caveat.id}: {caveat.text}")
    if recipe.excludes:
        lines.append(f"  excludes  {', '.join(recipe.excludes)}")
    if lane.missing_protocols:
        lines.append(
            f"  NOT BUILT protocol {', '.join(lane.missing_protocols)} is not in this version; a load is refused"
        )
    if lane.refusal:
        lines.append(f"  REFUSED   {lane.refusal}")
    lines.append(f"  plan      {lane.plan.sha256 if lane.plan else 'none'}")
    lines.append(f"  lane key  {lane.key or 'not before the weights are proven'}")
    return lines


def _start(plan: LaunchPlan) -> list[str]:
    """The start as it would be typed, a flag a line."""
    lines = [f"  roles     {', '.join(f'{name} ({device})' for name, device in plan.roles.items())}"]
    lines += [f"  env       {name}={value}" for name, value in plan.environment.items()]
    if plan.container:
        lines += _container(plan.container)
    groups: list[list[str]] = [[]]
    for argument in plan.argv:
        if argument.startswith("-") and len(argument) > 1 and groups[-1]:
            groups.append([])
        groups[-1].append(argument)
    return lines + [f"  {'start' if number == 0 else '':<9} {shlex.join(group)}" for number, group in enumerate(groups)]


def _container(start: ContainerStart) -> list[str]:
    """What Docker is asked for beside the command."""
    sources = [
        f"{mount.kind} {mount.source} at {mount.target}{', read-only' if mount.read_only else ''}"
        for mount in start.mounts
    ]
    shm = f", shm {start.shm_gib:g} GiB" if start.shm_gib else ""
    return [
        f"  container {start.name}, network {start.network}, restart no, no new privileges, capabilities dropped",
        f"  devices   {', '.join(start.devices) or 'none'}",
        *(f"  mount     {source}" for source in sources),
        *(f"  tmpfs     {path} ({options})" for path, options in start.tmpfs.items()),
        f"  memory    ipc {start.ipc}{shm}, ulimits {start.ulimits or 'default'}",
    ]
