# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the keeper's program on this host and follows what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from .._words.documents import canonical_json
from .._words.errors import CampaignError, ToldError


def call_program(program: str, state_dir: str, request: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """The program's result. Raises :class:`ToldError` with its own error, :class:`CampaignError` where it ended without any answer."""
    with subprocess.Popen(
        [sys.executable, program, "call", "--state-dir", state_dir],
        cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise CampaignError("the keeper's program has no pipes")
        process.stdin.write(canonical_json(request))
        process.stdin.close()
        for line in process.stdout:
            document = json.loads(line)
            if "tell" in document:
                tell(document["tell"])
            elif "error" in document:
                raise ToldError(document["error"])
            else:
                return dict(document["result"])
        fault = process.stderr.read()[-800:].strip()
    raise CampaignError(f"{program} ended with {process.returncode} and no answer: {fault or 'no message'}")
