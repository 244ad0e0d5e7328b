# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress for the terminal: one JSON line an event, read by the controller with ``tail`` while a module runs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Progress:
    """Appends events. Losing one is no fault, so nothing is synced and a full disk is ignored."""

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # The controller looks whether this process lives: one that was killed leaves no result.
            self.tell("started", "", pid=os.getpid())

    def tell(self, stage: str, text: str, **data: Any) -> None:
        """``stage`` in one word, ``text`` for people, ``data`` as numbers."""
        if self._path is None:
            return
        line = json.dumps({"t": round(time.time(), 3), "stage": stage, "text": text, **data})
        try:
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError:
            return
