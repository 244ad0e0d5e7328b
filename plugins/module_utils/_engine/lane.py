# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lane's engine on the host: load with evidence, unload with proof. Asks the keeper to start it, so that it is the keeper's child."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .._evidence.record import artifact
from .._evidence.store import write_json
from .._host.probe import port_is_free, read_gpus, read_kernel_faults, run_program
from .._mode.devices import Devices
from .._mode.keeper_socket import ask_keeper
from .._mode.reservation import read_reservation
from .._words.documents import from_document, to_document
from .._words.errors import CampaignError, EngineError
from .._words.identity import Identity, live_sha256
from .._words.plan import LaunchPlan
from .._words.signature import Signature
from .ending import ExitStatus
from .load import Loading
from .occupant import listed_models
from .read_back import Loaded, read_back
from .runtime import Stopped
from .runtimes import record_of, runtime_for

#: Creating and starting a container with its devices may take a while under WSL2.
START_S = 150.0
PORT_S = 10.0


def load(
    plan: LaunchPlan,
    state_dir: Path,
    folder: Path,
    identity: Identity,
    tell: Callable[[str], None],
    signatures: tuple[Signature, ...] = (),
) -> dict[str, Any]:
    """Starts the plan and writes plan, engine, live and models artifacts. Raises :class:`EngineError` where it doesn't come up as planned.

    An engine of this very plan that runs already is read back and left as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "startup.log"
    write_json(
        folder / "plan.json", artifact("plan", identity, {"plan": to_document(plan), "plan_sha256": plan.sha256})
    )
    engine = _status(state_dir)
    fresh = engine is None or not engine["running"] or engine["plan_sha256"] != plan.sha256
    began = time.monotonic()

    def kernel_said() -> str:
        return read_kernel_faults(run_program, time.monotonic() - began)

    try:
        if engine is None or fresh:
            engine = _start(plan, state_dir, log, tell)
        log = Path(engine["log"])
        status = partial(_status, state_dir)
        ready_s = Loading(
            plan, runtime_for(plan), engine["identity"], status, log, tell, _where(plan), signatures, kernel_said
        ).wait_ready()
    except CampaignError as exc:
        record = {"ready": False, "error": str(exc), "failure": exc.facts, "status": _last_status(state_dir)}
        write_json(folder / "engine.json", artifact("engine", identity, record))
        raise
    tell(f"ready after {ready_s:.1f} s, reading the live configuration back")
    loaded = read_back(plan, runtime_for(plan), engine["identity"], log, signatures)
    return {**_accept(plan, loaded, ready_s, folder, identity), "changed": fresh}


def _start(plan: LaunchPlan, state_dir: Path, log: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """On a free port and on devices whose memory is at its floor: what an engine takes must not depend on who was there before."""
    if plan.key_file and not os.access(plan.key_file, os.R_OK):
        raise EngineError(f"campaign_engine_key_file {plan.key_file} can't be read on this host", stage="key")
    if not port_is_free(plan.host, plan.port):
        models = listed_models(plan.base_url)
        answer = f" (what answers there lists {', '.join(models)})" if models else ""
        raise EngineError(
            f"{plan.recipe}: port {plan.port} is already in use on this host{answer}; free it or set campaign_port",
            stage="port",
        )
    reservation = read_reservation(state_dir)
    if reservation is not None:
        Devices(reservation.host).wait_free(tell)
    tell(f"starting {plan.engine} for {plan.recipe}")
    request = {"op": "start", "plan": to_document(plan), "log": str(log)}
    started: dict[str, Any] = ask_keeper(state_dir, request, timeout_s=START_S)["engine"]
    return started


def _where(plan: LaunchPlan) -> str:
    """Image and devices in words."""
    gpus = [gpu for gpu in read_gpus(run_program) if gpu.uuid in plan.roles.values()]
    devices = ", ".join(sorted({f"{gpu.name}, compute capability {gpu.compute_capability}" for gpu in gpus}))
    return "; ".join(item for item in (f"image {plan.container.image}" if plan.container else "", devices) if item)


def _accept(plan: LaunchPlan, loaded: Loaded, ready_s: float, folder: Path, identity: Identity) -> dict[str, Any]:
    """The live configuration has to be the planned one. What the engine does not tell is returned as ``unproven``."""
    known = identity.learned(engine_version=loaded.version, live_sha256=live_sha256(loaded.live))
    if loaded.version is None:
        known = Identity(
            **{**vars(known), "unknown": {**known.unknown, "engine_version": "the engine does not report one"}}
        )
    rows = {
        "comparisons": to_document(loaded.comparisons),
        "deviations": loaded.deviations,
        "unproven": loaded.unproven,
    }
    write_json(folder / "live.json", artifact("live", known, {"live": loaded.live, **rows}))
    write_json(folder / "models.json", artifact("models", known, {"models": loaded.models}))
    write_json(
        folder / "engine.json",
        artifact("engine", known, {"ready": True, "ready_s": ready_s, "version": loaded.version}),
    )
    if loaded.deviations:
        raise EngineError(
            f"{plan.recipe}: the engine does not run as planned: {'; '.join(loaded.deviations)}", stage="read_back"
        )
    return {"identity": to_document(known), "ready_s": ready_s, "unproven": loaded.unproven}


def unload(
    plan: LaunchPlan, state_dir: Path, folder: Path, identity: Identity, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Bounded stop, kill, removal; gone means nothing of the plan, a free port and GPU memory below the idle floor."""
    stopped = runtime_for(plan).stop(record_of(plan, str(folder / "startup.log")))
    deadline = time.monotonic() + PORT_S
    while not port_is_free(plan.host, plan.port):
        if time.monotonic() > deadline:
            raise CampaignError(
                f"{plan.recipe}: port {plan.port} is still in use after the engine was stopped; the next lane is refused"
            )
        time.sleep(0.05)
    reservation = read_reservation(state_dir)
    if reservation is not None and stopped:
        Devices(reservation.host).wait_free(tell)
    outcome = stopped[0].outcome if stopped else "gone"
    if folder.is_dir():
        record = {"outcome": outcome, "exit": _exit_text(stopped, state_dir), "stopped": to_document(stopped)}
        write_json(folder / "unload.json", artifact("unload", identity, record))
    return {"changed": bool(stopped), "outcome": outcome}


def _exit_text(stopped: list[Stopped], state_dir: Path) -> str | None:
    """How it ended: a container says so itself, of a process only its parent knows."""
    if stopped and stopped[0].exit is not None:
        return stopped[0].exit.describe()
    status = _last_status(state_dir)
    if status is None or status["exit"] is None:
        return None
    return replace(from_document(ExitStatus, status["exit"]), ours=bool(stopped)).describe()


def _status(state_dir: Path) -> dict[str, Any] | None:
    status: dict[str, Any] | None = ask_keeper(state_dir, {"op": "status"})["engine"]
    return status


def _last_status(state_dir: Path) -> dict[str, Any] | None:
    """For evidence: a keeper that is gone hides no fault."""
    try:
        return _status(state_dir)
    except CampaignError:
        return None
