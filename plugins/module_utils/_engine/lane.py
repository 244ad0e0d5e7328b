# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lane's engine on the host: load with evidence, unload with proof. Asks the keeper to start it, so that it is the keeper's child."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._evidence.record import artifact
from .._evidence.store import write_json
from .._host.probe import port_is_free
from .._mode.devices import Devices
from .._mode.keeper_socket import ask_keeper
from .._mode.reservation import read_reservation
from .._words.documents import sha256_of, to_document
from .._words.errors import CampaignError, EngineError
from .._words.identity import Identity
from .._words.plan import LaunchPlan
from .load import Loaded, read_back, wait_ready
from .process import find_by_plan, stop_engine


def load(
    plan: LaunchPlan, state_dir: Path, folder: Path, identity: Identity, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Starts the plan and writes plan, engine, live and models artifacts. Raises :class:`EngineError` where it doesn't come up as planned."""
    if not port_is_free(plan.host, plan.port):
        raise EngineError(
            f"{plan.recipe}: port {plan.port} is taken on this host; free it or set campaign_port", stage="port"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_json(
        folder / "plan.json", artifact("plan", identity, {"plan": to_document(plan), "plan_sha256": plan.sha256})
    )
    log = folder / "startup.log"
    tell(f"starting {plan.engine} for {plan.recipe}")
    engine = ask_keeper(state_dir, {"op": "start", "plan": to_document(plan), "log": str(log)})["engine"]
    try:
        ready_s = wait_ready(plan, lambda: _status(state_dir), log, tell)
    except CampaignError as exc:
        record = {"ready": False, "error": str(exc), "failure": exc.facts, "status": _status(state_dir)}
        write_json(folder / "engine.json", artifact("engine", identity, record))
        raise
    tell(f"ready after {ready_s:.1f} s, reading the live configuration back")
    return _accept(plan, read_back(plan, engine["process"], log, ready_s), folder, identity)


def _accept(plan: LaunchPlan, loaded: Loaded, folder: Path, identity: Identity) -> dict[str, Any]:
    """The live configuration has to be the planned one."""
    live_sha256 = sha256_of({key: value for key, value in loaded.live.items() if key != "process"})
    known = identity.learned(engine_version=loaded.version, live_sha256=live_sha256)
    if loaded.version is None:
        known = Identity(
            **{**vars(known), "unknown": {**known.unknown, "engine_version": "the engine does not report one"}}
        )
    write_json(folder / "live.json", artifact("live", known, {"live": loaded.live, "deviations": loaded.deviations}))
    write_json(folder / "models.json", artifact("models", known, {"models": loaded.models}))
    write_json(
        folder / "engine.json",
        artifact("engine", known, {"ready": True, "ready_s": loaded.ready_s, "version": loaded.version}),
    )
    if loaded.deviations:
        raise EngineError(
            f"{plan.recipe}: the engine does not run as planned: {'; '.join(loaded.deviations)}", stage="read_back"
        )
    return {"changed": True, "identity": to_document(known), "ready_s": loaded.ready_s}


def unload(
    plan: LaunchPlan, state_dir: Path, folder: Path, identity: Identity, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Bounded stop, then kill; gone means no process of the plan, a free port and GPU memory below the idle floor."""
    outcomes = [stop_engine(process, plan.stop_s) for process in find_by_plan(plan.sha256)]
    deadline = time.monotonic() + 10.0
    while not port_is_free(plan.host, plan.port):
        if time.monotonic() > deadline:
            raise CampaignError(
                f"{plan.recipe}: port {plan.port} is still in use after the engine was stopped; the next lane is refused"
            )
        time.sleep(0.1)
    reservation = read_reservation(state_dir)
    if reservation is not None and outcomes:
        Devices(reservation.host).wait_free(tell)
    outcome = outcomes[0] if outcomes else "gone"
    if folder.is_dir():
        write_json(
            folder / "unload.json", artifact("unload", identity, {"outcome": outcome, "status": _status(state_dir)})
        )
    return {"changed": bool(outcomes), "outcome": outcome}


def _status(state_dir: Path) -> dict[str, Any] | None:
    status: dict[str, Any] | None = ask_keeper(state_dir, {"op": "status"})["engine"]
    return status
