# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where receipts lie on a host: one file a snapshot, in a folder of the state. One that is missing or damaged is as good as none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._evidence.store import read_json, write_json
from .._words.documents import sha256_of
from .._words.errors import CampaignError
from .receipt import PARTS, SCHEMA, Receipt


def read_receipt(folder: Path, place: str, wanted: Mapping[str, Any]) -> Receipt | None:
    """``place``: the hub's folder or the volume's name. What the receipt is of, it says itself."""
    try:
        document = read_json(_path(folder, place, wanted))
    except CampaignError:
        return None
    return (
        document if isinstance(document, dict) and document.get("schema") == SCHEMA and set(document) >= PARTS else None
    )


def keep_receipt(folder: Path, place: str, wanted: Mapping[str, Any], receipt: Receipt) -> None:
    write_json(_path(folder, place, wanted), receipt)


def _path(folder: Path, place: str, wanted: Mapping[str, Any]) -> Path:
    return folder / f"{sha256_of([place, wanted['repo'], wanted['revision']])[:32]}.json"
