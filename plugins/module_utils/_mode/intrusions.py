# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the keeper's isolation watch stored, for the gates: a file of its own, so that a gate doesn't carry the mode transaction."""

from __future__ import annotations

import json
from pathlib import Path


def intrusions_since(folder: Path, since: float) -> list[str]:
    """Stored intrusions from the Unix time ``since`` on, each text once."""
    try:
        lines = (folder / "isolation.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return sorted({document["text"] for document in map(json.loads, lines) if document["t"] >= since})
