# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts an engine's launcher on the host and shows how it loads."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.long_action import LongAction
from ..plugin_utils.programs import LAUNCHERS, launcher_path, launcher_program


class ActionModule(LongAction):
    """Runs the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = {key: value for key, value in self._task.args.items() if key != "timeline"}
        state_dir, kind = str(arguments["state_dir"]), str(arguments["plan"]["engine"])
        if kind in LAUNCHERS and arguments["state"] == "loaded" and not self._task.check_mode:
            arguments["launcher"] = launcher_path(kind, state_dir)
            try:
                self.put_program(f"{kind}.py", lambda: launcher_program(kind), arguments["launcher"])
            except OSError as exc:
                return {"failed": True, "msg": str(exc)}
        label = f"{(task_vars or {}).get('inventory_hostname', '')} | {arguments['plan']['recipe']}"
        return self.run_long("engine", arguments, task_vars or {}, state_dir=state_dir, label=label)
