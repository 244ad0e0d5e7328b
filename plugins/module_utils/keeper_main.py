# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``keeper.pyz`` runs: ``watch`` and ``call`` (started by gpu_mode), ``restore`` and ``status`` (by a person at the host).

Each command loads what it needs only: loading is most of a short run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ._evidence.say import answered, say


def main(arguments: list[str] | None = None) -> int:
    """0: done. 3: refused, with one JSON line that says why. 1: the host is not given back; the text says what to do."""
    parser = argparse.ArgumentParser(
        prog="keeper.pyz", description="Holds a reserved host for a campaign and gives it back."
    )
    parser.add_argument("command", choices=("watch", "restore", "status", "call"))
    # Called by the name for people, it lies in the state folder itself; by its own name, in programs/ below it.
    here = Path(sys.argv[0]).absolute().parent
    parser.add_argument("--state-dir", type=Path, default=here.parent if here.name == "programs" else here)
    parser.add_argument(
        "--trust-edited", action="store_true", help="restore from a reservation.json that was changed by hand"
    )
    options = parser.parse_args(arguments)
    if options.command == "call":
        return _call(options.state_dir)
    if options.command == "watch":
        from .watch_main import watch

        return watch(options.state_dir)
    from .hand_main import restore, status

    if options.command == "restore":
        return restore(options.state_dir, trust_edited=options.trust_edited)
    return status(options.state_dir)


def _call(state_dir: Path) -> int:
    """Reads a request from standard input; prints progress lines, then ``{"result": …}`` or ``{"error": …}``."""
    request = json.loads(sys.stdin.read())
    if request["state"] in ("loaded", "unloaded", "probed"):
        from .engine_main import act

        say(json.dumps(answered(lambda: act(state_dir, request))))
        return 0
    if request["state"] in ("gated", "asked", "controlled"):
        from .gate_main import ask, run_gates, show_controls

        acts: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "gated": partial(run_gates, state_dir),
            "asked": ask,
            "controlled": show_controls,
        }
        say(json.dumps(answered(partial(acts[request["state"]], request))))
        return 0
    # The keeper loads in a process of its own, and this one loads meanwhile what else it needs.
    keeper = None
    if request["state"] == "exclusive":
        from ._mode.keeper_start import WaitingKeeper

        keeper = WaitingKeeper(state_dir, sys.argv[0])
    from .mode_main import answer

    say(json.dumps(answer(state_dir, request, keeper)))
    return 0
