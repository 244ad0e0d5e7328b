# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz call`` does for the gates: a suite against a served model, told of and answered in JSON lines; and what answers at an address."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ._api import requests
from ._api.client import Client
from ._api.replies import read_reply
from ._engine.adapters import endpoint_adapter, endpoint_engine
from ._engine.pages import as_object, objects_of
from ._evidence.hidden import key_hidden
from ._evidence.say import tell
from ._gates.energy import energy_document, unix_time
from ._gates.runner import LaneGates
from ._gates.telemetry import Telemetry
from ._mode.intrusions import intrusions_since
from ._mode.place import reservation_folder
from ._words.documents import from_document, to_document
from ._words.errors import CampaignError
from ._words.identity import Identity
from ._words.suite import Suite
from ._words.text import plain


def run_gates(state_dir: Path, request: dict[str, Any]) -> dict[str, Any]:
    """``request``: ``{suite, protocols, base_url, folder, identity, seed, key_file, devices}``. All profiles' results, or as far as a fault let them."""
    reservation = reservation_folder(state_dir)
    watched = {role: device for role, device in request["devices"].items() if device != "cpu"}
    folder, identity = Path(request["folder"]), from_document(Identity, request["identity"])
    telemetry = Telemetry(watched, folder, identity)
    lane = LaneGates(
        suite=from_document(Suite, request["suite"]),
        protocols=request["protocols"],
        base_url=request["base_url"],
        folder=folder,
        identity=identity,
        seed=request["seed"],
        key_file=request["key_file"],
        tell=tell,
        intrusions=lambda since: intrusions_since(reservation, since),
        energy=lambda began_at, wall_s, tokens: energy_document(
            telemetry.through(unix_time(began_at) + wall_s), sorted(watched), began_at, wall_s, tokens
        ),
    )
    with key_hidden(request["key_file"], None), telemetry:
        profiles, fault = lane.run()
    return {"changed": True, "profiles": to_document(profiles), "fault": fault}


#: One short question shows whether an endpoint reasons without being told to.
QUESTION = "A train leaves at 9:40 and arrives at 11:05. How many minutes does it take? Answer with the number."
ANSWER_TOKENS, ANSWER_S = 64, 120.0


def show_controls(request: dict[str, Any]) -> dict[str, Any]:
    """``request``: ``{protocols}``. What :meth:`NegativeControls.run` found; its rows are not kept."""
    from ._gates.negative_controls import NegativeControls

    with tempfile.TemporaryDirectory() as folder:
        return {"changed": False, **NegativeControls(request["protocols"], Path(folder), tell).run()}


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """``request``: ``{base_url, key_file, model}``. What answers there: ``{engine, models, facts, problem, reasons}``."""
    client = Client(request["base_url"], request["key_file"])
    exchange = client.get("/v1/models")
    if exchange.status is None:
        raise CampaignError(f"nothing answers at {client.base_url}: {exchange.fault_text or exchange.fault}")
    engine = endpoint_engine(client)
    models = [plain(str(model.get("id")), 200) for model in objects_of(as_object(exchange.body), "data")]
    model = request["model"] or next(iter(models), None)
    return {
        "changed": False,
        "engine": engine,
        "models": models,
        "facts": to_document(endpoint_adapter(engine).live_facts(client, "")),
        "problem": None if exchange.status == 200 else f"HTTP status {exchange.status}",
        "reasons": model is not None and reasons(client, model),
    }


def reasons(client: Client, model: str) -> bool:
    """Whether its answer comes with reasoning, asked with no switch at all. Raises where it doesn't answer."""
    body = requests.chat(
        model, [{"role": "user", "content": QUESTION}], max_tokens=ANSWER_TOKENS, stream=False, fields={}
    )
    reply = read_reply(client.post("/v1/chat/completions", requests.encode(body), timeout_s=ANSWER_S), streamed=False)
    if reply.is_infrastructure:
        raise CampaignError(f"{client.base_url}: {model} does not answer a short question: {plain(reply.error or '')}")
    return bool(reply.reasoning)
