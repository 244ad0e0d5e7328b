# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes a host's GPU roles and gives them back, by the keeper's program on the host."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.host_program import HostProgramAction
from ..plugin_utils.state_table import state_lines

SPEC: dict[str, dict[str, Any]] = {
    "state": {"type": "str", "choices": ["exclusive", "restored", "observed"], "required": True},
    "host": {"type": "dict"},
    "state_dir": {"type": "str", "default": ""},
    "campaign": {"type": "str"},
    "identity": {"type": "dict"},
    "reason": {"type": "str", "default": "end of the campaign"},
    "takeover": {"type": "bool", "default": False},
    "timeline": {"type": "str"},
}
REQUIRED_IF = [("state", "exclusive", ("host", "campaign", "identity")), ("state", "observed", ("host",))]
NOTHING_TO_RESTORE = {"changed": False, "steps": [], "folder": None, "differences": None}


class ActionModule(HostProgramAction):
    """See the module file of the same name for the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC, required_if=REQUIRED_IF)
        state_dir, reserved, present = self.look(options["state_dir"])
        state, checking = options["state"], self._task.check_mode
        if state == "restored" and not reserved:
            return dict(NOTHING_TO_RESTORE)
        if state == "restored" and checking:
            return {**NOTHING_TO_RESTORE, "changed": True, "steps": ["give the host back"]}
        # A check and a look leave nothing on the host.
        keep = not checking and state != "observed"
        request = {name: options[name] for name in ("host", "campaign", "identity", "reason", "takeover")}
        request["state"] = "plan" if checking and state == "exclusive" else state
        try:
            result = self.call_program(request, task_vars or {}, state_dir=state_dir, present=present, keep=keep)
        except OSError as exc:
            return {"failed": True, "msg": str(exc)}
        if state == "exclusive" and not result.get("failed"):
            result["diff"] = {"before": "", "after": "\n".join(result["steps"]) + "\n"}
        if state == "observed" and not result.get("failed"):
            name = str((task_vars or {}).get("inventory_hostname", ""))
            for line in state_lines(name, result["final"], result["reservation"]):
                self._display.display(line)
        return result
