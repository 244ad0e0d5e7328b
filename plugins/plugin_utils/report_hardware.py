# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host and the pinned configurations, for the report. Derived from the packet alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .blocks import Block, Heading, TableBlock, Text

Document = Mapping[str, Any]
PINNED_HEADER = (
    "lane",
    "model",
    "revision",
    "engine",
    "build",
    "quantization",
    "KV cache",
    "context",
    "roles",
    "speculative",
)


def hardware_section(packet: Path) -> Iterator[Block]:
    """Cards, links, system, Docker, and how the campaign had them for itself."""
    document = read_json(packet / "host.json") if (packet / "host.json").is_file() else {}
    facts: Document = document.get("facts") or {}
    if not facts.get("observed"):
        return
    yield Heading("Hardware and isolation")
    rows = [*_cards(facts), *_system(facts), *_docker(facts)]
    yield TableBlock.of(("", ""), rows)
    yield from _isolation(packet)


def _cards(facts: Document) -> Iterator[tuple[str, str]]:
    kinds = Counter(
        (
            gpu["name"],
            gpu.get("memory_total_mib"),
            gpu.get("compute_capability"),
            gpu.get("power_limit_w"),
            gpu.get("driver"),
        )
        for gpu in facts.get("gpus") or []
    )
    for (name, memory, capability, power, driver), count in kinds.items():
        told = [f"{memory:,} MiB each" if memory else "", f"compute capability {capability}" if capability else ""]
        told += [f"{power:g} W limit" if power else "", f"driver {driver}" if driver else ""]
        yield "GPUs", f"{count} × {name}, {', '.join(filter(None, told))}"
    if not kinds:
        yield "GPUs", "none"
    if facts.get("link"):
        peers = {"True": ", peer access", "False": ", no peer access"}.get(str(facts.get("peer_access")), "")
        yield "link between them", f"{facts['link']}{peers}"


def _system(facts: Document) -> Iterator[tuple[str, str]]:
    under = " under WSL2" if facts.get("wsl2") else ""
    windows = f", Windows {facts['windows']}" if facts.get("windows") else ""
    yield "system", f"kernel {facts.get('kernel') or 'not told'}{under}{windows}"
    memory = f"{facts['memory_gib']:.0f} GiB" if facts.get("memory_gib") else "not told"
    yield (
        "processor and memory",
        f"{facts.get('cpu_count') or '?'} × {facts.get('cpu_model') or 'a processor that is not told'}, {memory}",
    )


def _docker(facts: Document) -> Iterator[tuple[str, str]]:
    engine = facts.get("docker") or {}
    version = engine.get("version") if isinstance(engine, dict) else engine
    if version or facts.get("docker_client"):
        yield "Docker", f"engine {version or 'not asked'}, client {facts.get('docker_client') or 'none'}"


def _isolation(packet: Path) -> Iterator[Block]:
    """What was out while lanes were measured, and whether somebody came in."""
    if not (packet / "reservation.json").is_file():
        return
    host: Document = read_json(packet / "reservation.json").get("host") or {}
    services = ", ".join(host.get("services") or {}) or "no services"
    seen = (packet / "isolation.jsonl").is_file()
    watch = "intrusions were seen, see isolation.jsonl" if seen else "the keeper saw no intrusion"
    roles = ", ".join(host.get("gpu_roles") or {}) or "none"
    yield Text(
        f"One owner held every declared role ({roles}) for the time of the campaign; declared services ({services}) were out or drained; {watch}."
    )


def pinned_section(packet: Path, lanes: Iterable[Document]) -> Iterator[Block]:
    """One row a lane: what exactly was run."""
    rows = [row for lane in lanes for row in _pins(packet / "lanes" / lane["recipe"])]
    if rows:
        yield Heading("Pinned configurations")
        yield TableBlock.of(PINNED_HEADER, rows)


def _pins(folder: Path) -> Iterator[tuple[str, ...]]:
    if not (folder / "recipe.json").is_file():
        return
    document = read_json(folder / "recipe.json")
    recipe, identity = document["recipe"], document["identity"]
    model, engine = recipe["model"], recipe["engine"]
    derived = engine["derived"]
    build = engine["image"] or engine["lock"] or f"{derived['base']} + {derived['patch_set']}"
    version = identity.get("engine_version") or engine["version"]
    effective = _live_settings(folder)
    yield (
        recipe["name"], model["repo"], model["revision"], f"{engine['kind']} {version}", build, model["quantization"] or "not declared",
        effective.get("kv_cache_dtype", "engine's default"), f"{recipe['limits']['context_tokens']:,}", str(recipe["needs"]["roles"]), recipe["speculative"],
    )  # fmt: skip


def _live_settings(folder: Path) -> dict[str, str]:
    """Settings that were read back, by name."""
    rows = (read_json(folder / "live.json").get("comparisons") or []) if (folder / "live.json").is_file() else []
    return {row["name"]: str(row["live"]) for row in rows if row.get("live") is not None}
