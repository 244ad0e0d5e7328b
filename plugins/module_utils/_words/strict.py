# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How pydantic reads our declarations at the door: unknown keys are refused."""

from __future__ import annotations

from typing import Any

FORBID_EXTRA: dict[str, Any] = {"extra": "forbid"}
