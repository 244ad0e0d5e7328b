# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compatibility brief as Markdown: what was decided before any launch and what it rests on. From what ``plan`` returned, nothing else."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from ..module_utils._cache.quantization import Quantization
from ..module_utils._words.documents import from_document
from ..module_utils._words.host import HostDeclaration
from ..module_utils._words.plan import ContractFinding
from ..module_utils._words.recipe import Recipe
from .markdown import Table, cell, markdown_table

WORDS = {True: "yes", False: "no", None: "not known"}


def compatibility_brief(plan: Mapping[str, Any], today: datetime.date) -> str:
    """The whole brief. ``plan``: what :mod:`plan` returned, with the host's facts or the declared ones."""
    identity, facts, lanes = plan["identity"], plan["facts"], plan["lanes"]
    parts = [
        f"# Compatibility brief: campaign {cell(identity['campaign'])} on {cell(identity['host'])}",
        f"Written {today.isoformat()} before any launch. It records decisions and measures nothing: what it expects of a model counts only once a campaign "
        f"has measured it here. {_observed(facts)}",
        "## Topology boundary",
        markdown_table(*topology_table(facts)),
        *_drift(plan),
        markdown_table(*isolation_table(plan["host"])),
        *_contract(lanes),
        "## Launch decisions",
        markdown_table(*decision_table(lanes)),
        *(part for lane in lanes for part in _reasons(lane)),
        "## Quantization search results",
        *_quantization(lanes),
        "## Evidence gates",
        markdown_table(*gate_table(lanes)),
        "Nothing is timed before it has passed its functional gate, and a model that is up but answers with garbage fails it. "
        "Each lane keeps the proven revision, the "
        "image's digest or the lock's hash, the version that the engine tells, topology, start, startup log, list of models and every request's row.",
    ]
    return "\n\n".join(parts) + "\n"


def _observed(facts: Mapping[str, Any]) -> str:
    if facts["observed"]:
        return "The host's facts were read from it."
    return "The host was not read: its facts are those that the inventory declares (campaign\\_host\\_class)."


def topology_table(facts: Mapping[str, Any]) -> Table:
    """What the host is, as far as it is known."""
    rows: list[tuple[str, ...]] = [(f"GPU {gpu['index']}", _gpu(gpu)) for gpu in facts["gpus"]]
    docker = facts.get("docker") or {}
    rows += [
        ("farthest link between GPUs", facts["link"] or "not known"),
        ("peer access, as the driver tells", WORDS[facts["peer_access"]]),
        ("WSL2", f"{WORDS[facts['wsl2']]}{', Windows ' + facts['windows'] if facts.get('windows') else ''}"),
        ("kernel", facts["kernel"] or "not known"),
    ]
    if docker:
        rows.append(
            (
                "Docker",
                f"{docker.get('platform') or 'engine'}, {docker['version']}, client {facts.get('docker_client') or 'none'}",
            )
        )
    if facts.get("shm_gib") is not None:
        rows.append(("/dev/shm of the host", f"{facts['shm_gib']:.1f} GiB"))
    return ("fact", "value"), rows


def _gpu(gpu: Mapping[str, Any]) -> str:
    memory = "memory not known" if gpu["memory_total_mib"] is None else f"{gpu['memory_total_mib']:,} MiB"
    power = "" if gpu["power_limit_w"] is None else f", {gpu['power_limit_w']:g} W"
    return f"{gpu['name']}, {memory}, compute capability {gpu['compute_capability'] or 'not known'}{power}, driver {gpu['driver']}"


def _drift(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["drift"]:
        yield "The host is not as declared: " + "; ".join(cell(text) for text in plan["drift"]) + "."


def isolation_table(document: Mapping[str, Any]) -> Table:
    """Who leaves the GPUs for the campaign, and how."""
    host = from_document(HostDeclaration, dict(document))
    rows: list[tuple[str, ...]] = [
        (name, service.kind, ", ".join(service.roles) or "none", service.when_exclusive)
        for name, service in host.services.items()
    ]
    return ("service", "kind", "roles", "while a candidate owns the roles"), rows or [("none declared", "", "", "")]


def _contract(lanes: list[Any]) -> Iterator[str]:
    """Each rule once, with the lanes it applies to."""
    found: dict[tuple[str, str], list[str]] = {}
    for lane in lanes:
        for rule in lane["contract"]["environment"]:
            found.setdefault((f"{rule['name']}={rule['value']}", rule["reason"]), []).append(lane["name"])
        for rule in lane["contract"]["arguments"]:
            found.setdefault((rule["name"], rule["reason"]), []).append(lane["name"])
    if not found:
        yield "The facts call for no environment contract."
        return
    rows: list[tuple[str, ...]] = [
        (setting, reason, "all" if len(names) == len(lanes) else ", ".join(names))
        for (setting, reason), names in found.items()
    ]
    yield markdown_table(("environment contract", "because", "lanes"), rows)


def decision_table(lanes: list[Any]) -> Table:
    """One row a candidate."""
    rows: list[tuple[str, ...]] = []
    for lane in lanes:
        recipe, snapshot = lane["recipe"], lane["snapshot"] or {}
        engine, model, fit = recipe["engine"], recipe["model"], lane["fit"]
        rows.append(
            (
                f"{lane['name']}: {model['repo']}",
                model["revision"],
                f"{engine['kind']} {engine['version']}, {engine['runtime']}, {recipe['needs']['roles']} roles",
                model["quantization"] or "none named",
                _declared(snapshot),
                f"{fit['verdict']}: {fit['reason']}" if fit else "not estimated",
                decision(lane),
            )
        )
    return (
        "candidate",
        "revision",
        "first engine lane",
        "quantization",
        "the checkpoint declares",
        "fit (estimate)",
        "decision",
    ), rows


def decision(lane: Mapping[str, Any]) -> str:
    """run, the reason against it, or that it is done."""
    errors = [finding for finding in lane["findings"] if finding["severity"] == "error"]
    unbuilt = [name for name in from_document(Recipe, lane["recipe"]).protocols() if name not in lane["protocols"]]
    if lane["refusal"]:
        return f"refused: {lane['refusal']}"
    if errors:
        return f"refused: {from_document(ContractFinding, errors[0]).sentence()}"
    if unbuilt:
        return f"not run: {', '.join(unbuilt)} is not in this version"
    return "complete: its verdict is in the packet" if lane["action"] == "complete" else "run"


def _declared(snapshot: Mapping[str, Any]) -> str:
    declared = (snapshot.get("checkpoint") or {}).get("quantization")
    if declared:
        return str(from_document(Quantization, declared))
    return "nothing that is read here" if snapshot else "not read yet"


def _reasons(lane: Mapping[str, Any]) -> Iterator[str]:
    """What a candidate's decisions rest on, and what is known against it beforehand."""
    recipe = lane["recipe"]
    lines = [f"- {_source(source)}" for source in lane["sources"] if source["evidence"] != "catalog"]
    lines += [f"- Caveat **{cell(caveat['id'])}**: {cell(caveat['text'])}" for caveat in recipe["caveats"]]
    lines += [f"- Excluded, and read back: {cell(', '.join(recipe['excludes']))}"] if recipe["excludes"] else []
    if lines:
        yield f"### {cell(lane['name'])}"
        yield "\n".join(lines)


def _source(source: Mapping[str, Any]) -> str:
    doubts = f" **Needs local proof**: {cell('; '.join(source['doubts']))}." if source["doubts"] else ""
    kind = f"{source['evidence'].replace('_', ' ')}, {source['observed']}"
    return f"{cell(source['decides'])} {cell(source['says'])} (<{address(source['address'])}>, {cell(kind)}; settled by {source['settled_by']}.){doubts}"


def address(text: str) -> str:
    """Harmless between angle brackets."""
    return "".join(mark for mark in text if mark.isprintable() and mark not in "<> \\`")


def _quantization(lanes: list[Any]) -> Iterator[str]:
    """What searches of the catalogs found, each once."""
    found = {source["id"]: source for lane in lanes for source in lane["sources"] if source["evidence"] == "catalog"}
    yield "\n".join(f"- {_source(source)}" for source in found.values()) or "No recipe names a catalog search."


def gate_table(lanes: list[Any]) -> Table:
    """Which gates decide about each candidate, a row a profile."""
    rows: list[tuple[str, ...]] = []
    for lane in lanes:
        for profile in lane["recipe"]["profile"]:
            functional, quality = profile["functional"], profile["quality"]
            capacity = [
                f"{item['protocol']} at {item['context_tokens']:,} tokens, {item['requests']} requests"
                for item in profile["capacity"]
            ]
            rows.append(
                (
                    lane["name"],
                    profile["name"],
                    f"{functional['protocol']}: {', '.join(functional['required'])}",
                    ", ".join(functional["advisory"]) or "none",
                    quality["protocol"] if quality else "none",
                    "; ".join(capacity) or "none",
                )
            )
    return ("candidate", "profile", "required", "advisory", "quality", "capacity"), rows
