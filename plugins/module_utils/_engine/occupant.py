# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who answers at an address that should be free."""

from __future__ import annotations

from .._api.client import Client
from .._words.text import plain
from .pages import get_document


def listed_models(base_url: str) -> list[str]:
    """Names from /v1/models, made plain; empty where nothing of that kind answers."""
    listing = get_document(Client(base_url, connect_s=1.0), "/v1/models").get("data")
    rows = listing if isinstance(listing, list) else []
    return [plain(str(item["id"]), 80) for item in rows[:5] if isinstance(item, dict) and "id" in item]
