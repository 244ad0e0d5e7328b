# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz call`` does for the gates: a lane's gates against the loaded engine, told of and answered in JSON lines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ._evidence.say import say
from ._gates.runner import LaneGates
from ._mode.intrusions import intrusions_since
from ._mode.place import reservation_folder
from ._words.documents import from_document, to_document
from ._words.identity import Identity
from ._words.suite import Suite


def run_gates(state_dir: Path, request: dict[str, Any]) -> dict[str, Any]:
    """``request``: ``{suite, protocols, base_url, folder, identity, seed, key_file}``. All profiles' results, or as far as a fault let them."""
    reservation = reservation_folder(state_dir)
    lane = LaneGates(
        suite=from_document(Suite, request["suite"]),
        protocols=request["protocols"],
        base_url=request["base_url"],
        folder=Path(request["folder"]),
        identity=from_document(Identity, request["identity"]),
        seed=request["seed"],
        key_file=request["key_file"],
        tell=tell,
        intrusions=lambda since: intrusions_since(reservation, since),
    )
    profiles, fault = lane.run()
    return {"changed": True, "profiles": to_document(profiles), "fault": fault}


def tell(stage: str, text: str, **data: Any) -> None:
    """A progress line: ``stage`` in one word, ``text`` for people, ``data`` as numbers."""
    say(json.dumps({"t": round(time.time(), 3), "stage": stage, "text": text, **data}))
