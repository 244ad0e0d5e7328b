# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the report of a packet again. Runs on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._words.errors import CampaignError
from ..plugin_utils.derived import written
from ..plugin_utils.report import markdown_report

SPEC: dict[str, dict[str, Any]] = {"packet": {"type": "str", "required": True}}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        folder = Path(options["packet"]).expanduser()
        file = folder / "report.md"
        try:
            text = markdown_report(folder)
        except CampaignError as exc:
            raise AnsibleActionFail(str(exc)) from exc
        done = written(file, text, check_mode=self._task.check_mode, diff=self._task.diff)
        return {**done, "report": str(file)}
