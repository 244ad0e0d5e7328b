# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that are derived from evidence: written where they differ, shown with ``--diff``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: What a person can read line by line; of a page or a picture a difference only says that there is one.
READABLE = (".md",)


def written(files: Mapping[Path, str], *, check_mode: bool, diff: bool) -> dict[str, Any]:
    """``changed`` and, with ``diff``, the differences, as an action returns them. Nothing is written in check mode."""
    changed, shown = False, []
    for file, text in files.items():
        before = file.read_text(encoding="utf-8") if file.is_file() else ""
        changed = changed or text != before
        if text != before and not check_mode:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if file.suffix in READABLE:
            shown.append({"before": before, "after": text, "before_header": str(file), "after_header": str(file)})
    return {"changed": changed, **({"diff": shown} if diff else {})}
