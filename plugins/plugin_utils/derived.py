# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that are derived from evidence: written where they differ, shown with ``--diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def written(file: Path, text: str, *, check_mode: bool, diff: bool) -> dict[str, Any]:
    """``changed`` and, with ``diff``, the difference, as an action returns them. Nothing is written in check mode."""
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    if text != before and not check_mode:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return {"changed": text != before, **({"diff": {"before": before, "after": text}} if diff else {})}
