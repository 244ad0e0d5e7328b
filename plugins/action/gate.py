# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows how the gates go: checks, attempts, `capacity 7/12`, first-output p50 so far."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.long_action import LongAction


class ActionModule(LongAction):
    """Runs the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = {key: value for key, value in self._task.args.items() if key != "timeline"}
        label = f"{(task_vars or {}).get('inventory_hostname', '')} | {arguments['recipe']['name']}"
        return self.run_long("gate", arguments, task_vars or {}, state_dir=str(arguments["state_dir"]), label=label)
