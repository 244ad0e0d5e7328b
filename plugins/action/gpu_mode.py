# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the keeper on the host and shows what the mode transaction does."""

from __future__ import annotations

import shlex
from typing import Any

from ..plugin_utils.long_action import LongAction
from ..plugin_utils.programs import keeper_path, keeper_program


class ActionModule(LongAction):
    """Runs the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = {key: value for key, value in self._task.args.items() if key != "timeline"}
        state_dir = str(arguments["state_dir"])
        if arguments["state"] == "exclusive" and not self._task.check_mode:
            arguments["keeper"] = keeper_path(state_dir)
            try:
                self.put_program("keeper.pyz", keeper_program, arguments["keeper"])
            except OSError as exc:
                return {"failed": True, "msg": str(exc)}
            # The name for people: `python3 <state dir>/keeper.pyz restore`.
            self._low_level_execute_command(
                f"ln -sfn {shlex.quote(arguments['keeper'])} {shlex.quote(state_dir)}/keeper.pyz", sudoable=True
            )
        label = str((task_vars or {}).get("inventory_hostname", ""))
        return self.run_long("gpu_mode", arguments, task_vars or {}, state_dir=state_dir, label=label)
