# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a lane's gates, by the keeper's program on the host; shows how they go: checks, attempts, `capacity 7/12`, first-output p50 so far."""

from __future__ import annotations

from typing import Any

from ..module_utils._words.errors import CampaignError
from ..plugin_utils.host_program import HostProgramAction

SPEC: dict[str, dict[str, Any]] = {
    "suite": {"type": "dict", "required": True},
    "protocols": {"type": "dict", "required": True},
    "base_url": {"type": "str", "required": True},
    "state_dir": {"type": "str", "required": True},
    "folder": {"type": "str", "required": True},
    "identity": {"type": "dict", "required": True},
    "seed": {"type": "str", "required": True},
    "key_file": {"type": "str"},
    "devices": {"type": "dict", "default": {}},
    "timeline": {"type": "str"},
}


class ActionModule(HostProgramAction):
    """See the module file of the same name for the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        if self._task.check_mode:
            return {"changed": False, "profiles": [], "fault": None}
        state_dir, _reserved, present = self.look(options["state_dir"])
        request = {name: value for name, value in options.items() if name not in ("state_dir", "timeline")}
        label = f"{(task_vars or {}).get('inventory_hostname', '')} | {options['suite']['name']}"
        try:
            return self.call_program(
                {**request, "state": "gated"},
                task_vars or {},
                state_dir=state_dir,
                present=present,
                keep=True,
                label=label,
            )
        except (OSError, CampaignError) as exc:
            return {"failed": True, "msg": str(exc)}
