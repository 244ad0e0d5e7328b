# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output of the programs that run on a host by themselves; a module never uses it, as its output is its result."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from .._words.errors import CampaignError

Answer = dict[str, Any]


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tell(stage: str, text: str, **data: Any) -> None:
    """A progress line: ``stage`` in one word, ``text`` for people, ``data`` as numbers."""
    say(json.dumps({"t": round(time.time(), 3), "stage": stage, "text": text, **data}))


def answered(act: Callable[[], Answer]) -> Answer:
    """``{"result": …}`` of the act, or ``{"error": …}`` with its facts."""
    try:
        return {"result": act()}
    except CampaignError as exc:
        return {"error": exc.as_result()}
