# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows which patch is being applied."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.long_action import LongAction


class ActionModule(LongAction):
    """Runs the module of the same name."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        label = str((task_vars or {}).get("inventory_hostname", ""))
        return self.run_long("image_derive", dict(self._task.args), task_vars or {}, state_dir="/tmp", label=label)
