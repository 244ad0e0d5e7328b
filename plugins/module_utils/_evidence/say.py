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
from .._words.secret_forms import without_secrets

Answer = dict[str, Any]
#: Keys that this program was given, in the forms in which they may come out of it.
_hidden: set[str] = set()


def hide(key: str) -> None:
    """From here on ``key`` is in nothing that is said."""
    _hidden.update((key, json.dumps(key)[1:-1]))


def say(text: str) -> None:
    """One line, at once, and without secrets."""
    sys.stdout.write(f"{without_secrets(text, _hidden)}\n")
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
