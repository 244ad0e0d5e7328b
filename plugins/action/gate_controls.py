# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows on the host that every check can fail, by the keeper's program and before anything is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import write_json
from ..module_utils._words.errors import CampaignError
from ..plugin_utils.host_program import HostProgramAction

SPEC: dict[str, dict[str, Any]] = {
    "lanes": {"type": "list", "elements": "dict", "required": True},
    "state_dir": {"type": "str", "required": True},
    "packet": {"type": "str", "required": True},
    "identity": {"type": "dict", "required": True},
    "timeline": {"type": "str"},
}


class ActionModule(HostProgramAction):
    """See the module file of the same name for the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        if self._task.check_mode:
            return {"changed": False, "controls": []}
        protocols = {name: document for lane in options["lanes"] for name, document in lane["protocols"].items()}
        state_dir, _reserved, present = self.look(options["state_dir"])
        try:
            found = self.call_program(
                {"state": "controlled", "protocols": protocols},
                task_vars or {},
                state_dir=state_dir,
                present=present,
                keep=True,
            )
            if not found.get("failed"):
                document = {name: found[name] for name in ("verdict", "reason", "controls")}
                write_json(
                    Path(options["packet"]) / "controls.json",
                    {"schema": "tandem.controls/v1", "identity": options["identity"], **document},
                )
                if found["verdict"] != "passed":
                    raise CampaignError(f"the gates can't be trusted on this host: {found['reason']}")
        except (OSError, CampaignError) as exc:
            return {"failed": True, "msg": str(exc)}
        return found
