# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the keeper on the host and shows what the mode transaction does."""

from __future__ import annotations

import shlex
from typing import Any

from ..plugin_utils.long_action import LongAction
from ..plugin_utils.programs import keeper_path, keeper_program

#: The same default as ``_host.probe.default_state_dir``, asked of the host's own shell.
DEFAULT_STATE_DIR = 'if [ "$(id -u)" = 0 ]; then d=/var/lib/tandem-campaign; else d="${XDG_STATE_HOME:-$HOME/.local/state}/tandem-campaign"; fi'
NOTHING_TO_RESTORE = {"changed": False, "steps": [], "folder": None, "differences": None}


class ActionModule(LongAction):
    """Runs the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = {key: value for key, value in self._task.args.items() if key != "timeline"}
        state_dir, reserved = self._look(str(arguments.get("state_dir") or ""))
        arguments["state_dir"] = state_dir
        if arguments.get("state") == "restored" and not reserved:
            return dict(NOTHING_TO_RESTORE)
        try:
            arguments["keeper"] = self._put_keeper(state_dir)
        except OSError as exc:
            return {"failed": True, "msg": str(exc)}
        label = str((task_vars or {}).get("inventory_hostname", ""))
        return self.run_long("gpu_mode", arguments, task_vars or {}, state_dir=state_dir, label=label)

    def _look(self, state_dir: str) -> tuple[str, bool]:
        """The state folder, and whether a reservation lies in it: one command, so that restoring a restored host costs no module."""
        named = f"d={shlex.quote(state_dir)}" if state_dir else DEFAULT_STATE_DIR
        answer = self._low_level_execute_command(
            f'{named}; echo "$d"; test -d "$d/reservation" && echo reserved || true', sudoable=True
        )
        lines = str(answer.get("stdout", "")).split("\n")
        return lines[0], "reserved" in lines

    def _put_keeper(self, state_dir: str) -> str:
        """Where the program lies now. In check mode, and for a look, that is the task's own temporary folder."""
        if self._task.check_mode or self._task.args.get("state") == "observed":
            path: str = self._connection._shell.join_path(self._make_tmp_path(), "keeper.pyz")
            self._transfer_data(path, keeper_program())
            self._fixup_perms2((self._connection._shell.tmpdir, path))
            return path
        path = keeper_path(state_dir)
        self.put_program("keeper.pyz", keeper_program, path)
        # The name for people: `python3 <state dir>/keeper.pyz restore`.
        link = f"ln -sfn {shlex.quote(path)} {shlex.quote(state_dir)}/keeper.pyz"
        self._low_level_execute_command(link, sudoable=True)
        return path
