# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot proof as a program: ``python3 verify.pyz <request as JSON>``; a JSON line for each progress and one for the report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ._cache.report import snapshot_report


def main() -> int:
    """Request: an element of snapshot_verify's ``snapshots`` with ``hub``, ``depth`` and ``receipt``, the file of an earlier proof or None."""
    request = json.loads(sys.argv[1])

    def tell(text: str, done: int, total: int) -> None:
        _say({"text": text, "done": done, "total": total})

    receipt = json.loads(Path(request["receipt"]).read_bytes()) if request.get("receipt") else None
    _say({"report": snapshot_report(Path(request["hub"]), request, request["depth"], tell, receipt)})
    return 0


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()
