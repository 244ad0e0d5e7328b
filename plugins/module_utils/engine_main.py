# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz call`` does for the engine: loaded, unloaded, and its transport probed, told of and answered in JSON lines."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ._engine.lane import load, unload
from ._evidence.hidden import key_hidden
from ._evidence.say import Answer, tell
from ._probe.run import probe
from ._words.documents import from_document
from ._words.identity import Identity
from ._words.plan import LaunchPlan
from ._words.signature import Signature


def act(state_dir: Path, request: dict[str, Any]) -> Answer:
    """``request``: ``{state, plan, folder, identity, signatures}``; ``probed`` instead of a state of the engine takes ``program``, the ranks' own."""
    plan, identity = from_document(LaunchPlan, request["plan"]), from_document(Identity, request["identity"])
    folder = Path(request["folder"])
    signatures = tuple(from_document(Signature, item) for item in request.get("signatures") or ())
    if request["state"] == "probed":
        return probe(
            plan, Path(request["program"]), folder, identity, partial(tell, "nccl"), signatures, request["limit_s"]
        )
    loading = request["state"] == "loaded"
    with key_hidden(plan.key_file, None if loading else folder):
        if loading:
            return load(plan, state_dir, folder, identity, partial(tell, "load"), signatures)
        return unload(plan, state_dir, folder, identity, partial(tell, "load"))
