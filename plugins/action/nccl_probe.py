# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes the transport between a lane's GPUs, by the keeper's program on the host."""

from __future__ import annotations

from typing import Any

from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import CampaignError
from ..plugin_utils.host_program import HostProgramAction
from ..plugin_utils.programs import ranks_path, ranks_program
from ..plugin_utils.signatures import known_signatures

SPEC: dict[str, dict[str, Any]] = {
    "plan": {"type": "dict", "required": True},
    "state_dir": {"type": "str", "required": True},
    "folder": {"type": "str", "required": True},
    "identity": {"type": "dict", "required": True},
    "timeline": {"type": "str"},
    "signatures": {"type": "list", "elements": "dict", "default": []},
    "limit_s": {"type": "float", "default": 90.0},
}


class ActionModule(HostProgramAction):
    """See the module file of the same name for the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        if self._task.check_mode:
            return {"changed": False, "verdict": "not_run", "reason": "check mode touches no GPU", "bus_gb_s": None}
        state_dir, _reserved, present = self.look(options["state_dir"])
        program = ranks_path(state_dir)
        request = {name: options[name] for name in ("plan", "folder", "identity", "limit_s")}
        try:
            request["signatures"] = to_document(known_signatures(options["signatures"]))
            self.put_program("ranks.py", ranks_program, program)
            label = f"{(task_vars or {}).get('inventory_hostname', '')} | {options['plan']['recipe']}"
            return self.call_program(
                {**request, "state": "probed", "program": program},
                task_vars or {},
                state_dir=state_dir,
                present=present,
                keep=True,
                label=label,
            )
        except (OSError, CampaignError) as exc:
            return {"failed": True, "msg": str(exc)}
