# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the probe where the engine will run: the same image or environment, the same variables, devices and shared memory. Bounded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._engine.container_evidence import keep_evidence
from .._engine.container_spec import create_body
from .._engine.process import plan_environment
from .._evidence.record import artifact
from .._evidence.store import write_bytes, write_json
from .._host import docker_containers as containers
from .._host.archive import packed
from .._host.container import LOOK_LABEL
from .._host.docker import Docker
from .._words.errors import CampaignError, EngineError
from .._words.identity import Identity
from .._words.plan import ContainerStart, LaunchPlan
from .._words.signature import Signature
from .verdict import as_evidence, judge_probe

PROGRAM = "opt/tandem-campaign/ranks.py"
LIMIT_S, MIB = 90.0, 128
#: For the parent of the ranks to end them and tell of it.
MARGIN_S = 20.0
OUTPUT_LIMIT = 8 * 2**20


def probe(
    plan: LaunchPlan,
    program: Path,
    folder: Path,
    identity: Identity,
    tell: Callable[[str], None],
    signatures: tuple[Signature, ...] = (),
    limit_s: float = LIMIT_S,
) -> dict[str, Any]:
    """Writes ``nccl.json`` and ``nccl.log``. Raises :class:`EngineError` where the verdict isn't passed: nothing is loaded on a transport that isn't proven."""
    tell(f"{plan.recipe}: a collective over {len(plan.roles)} GPUs, at most {limit_s:g} s")
    request = json.dumps({"ranks": len(plan.roles), "limit_s": limit_s, "mib": MIB})
    run = _in_container if plan.container else _in_process
    output = run(plan, program, request, folder, limit_s + MARGIN_S)
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / "nccl.log", output.encode())
    result = judge_probe(output, plan, signatures)
    write_json(folder / "nccl.json", artifact("nccl", identity, as_evidence(result)))
    speed = f", {result.bus_gb_s:.1f} GB/s" if result.bus_gb_s else ""
    tell(f"{plan.recipe}: NCCL probe {result.verdict}: {result.reason}{speed}")
    if result.verdict != "passed":
        raise EngineError(
            f"{plan.recipe}: NCCL probe {result.verdict}: {result.reason}", recipe=plan.recipe, stage="nccl"
        )
    return {"changed": False, "verdict": result.verdict, "reason": result.reason, "bus_gb_s": result.bus_gb_s}


def _in_process(plan: LaunchPlan, program: Path, request: str, _folder: Path, limit_s: float) -> str:
    try:
        process = subprocess.Popen(
            [plan.argv[0], "-u", str(program), request], cwd="/", env=plan_environment(plan), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as exc:
        raise EngineError(f"{plan.recipe}: {plan.argv[0]} can't be started: {exc.strerror}", stage="nccl") from exc
    try:
        output, _nothing = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        # Its parent ends the ranks itself at their own limit; this is for a parent that can't.
        os.killpg(process.pid, signal.SIGKILL)
        output, _nothing = process.communicate()
    return output[-OUTPUT_LIMIT:].decode("utf-8", "replace")


def _in_container(plan: LaunchPlan, program: Path, request: str, folder: Path, limit_s: float) -> str:
    start = plan.container
    if start is None:
        raise CampaignError(f"{plan.recipe}: the plan has no container part")
    docker = Docker(start.socket)
    identifier = containers.create(docker, probe_body(plan, start, request))
    try:
        containers.put_archive(docker, identifier, packed({PROGRAM: program.read_bytes()}))
        docker.start(identifier)
        containers.wait_ended(docker, identifier, limit_s)
        return docker.log_tail(identifier, "all")[-OUTPUT_LIMIT:]
    except CampaignError as exc:
        keep_evidence(docker, identifier, folder / "nccl.log", plan.environment)
        raise EngineError(f"{plan.recipe}: {exc}", stage="nccl") from exc
    finally:
        containers.remove(docker, identifier)


def probe_body(plan: LaunchPlan, start: ContainerStart, request: str) -> dict[str, Any]:
    """The engine's own container with another program in it, and without its port."""
    body = create_body(plan, start)
    host = {name: value for name, value in body["HostConfig"].items() if name != "PortBindings"}
    return {
        **body,
        "Entrypoint": ["python3", "-u"],
        "Cmd": [f"/{PROGRAM}", request],
        "ExposedPorts": {},
        "Labels": {**body["Labels"], LOOK_LABEL: "1"},
        "HostConfig": host,
    }
