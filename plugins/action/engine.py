# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads and unloads an engine, by the keeper's program on the host; shows how it loads."""

from __future__ import annotations

from typing import Any

from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import CampaignError
from ..plugin_utils.host_program import HostProgramAction
from ..plugin_utils.programs import LAUNCHERS, launcher_path, launcher_program
from ..plugin_utils.signatures import known_signatures

SPEC: dict[str, dict[str, Any]] = {
    "state": {"type": "str", "choices": ["loaded", "unloaded"], "required": True},
    "plan": {"type": "dict", "required": True},
    "state_dir": {"type": "str", "required": True},
    "folder": {"type": "str", "required": True},
    "identity": {"type": "dict", "required": True},
    "timeline": {"type": "str"},
    "signatures": {"type": "list", "elements": "dict", "default": []},
}


class ActionModule(HostProgramAction):
    """See the module file of the same name for the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        plan, state = options["plan"], options["state"]
        if self._task.check_mode:
            return planned_change(plan["argv"], state)
        state_dir, _reserved, present = self.look(options["state_dir"])
        request = {name: options[name] for name in ("state", "plan", "folder", "identity")}
        try:
            if state == "loaded":
                request["signatures"] = to_document(known_signatures(options["signatures"]))
            if plan["runtime"] == "process" and plan["engine"] in LAUNCHERS and state == "loaded":
                path = launcher_path(plan["engine"], state_dir)
                self.put_program(f"{plan['engine']}.py", lambda: launcher_program(plan["engine"]), path)
            label = f"{(task_vars or {}).get('inventory_hostname', '')} | {plan['recipe']}"
            return self.call_program(
                request, task_vars or {}, state_dir=state_dir, present=present, keep=True, label=label
            )
        except (OSError, CampaignError) as exc:
            return {"failed": True, "msg": str(exc)}


def planned_change(argv: list[str], state: str) -> dict[str, Any]:
    """Check mode: what would be started or stopped. Nothing is looked at."""
    text = " ".join(map(str, argv)) + "\n"
    before, after = ("", text) if state == "loaded" else (text, "")
    return {"changed": True, "diff": {"before": before, "after": after}}
