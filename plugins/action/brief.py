# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the compatibility brief of a planned campaign. Runs on the controller."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils.brief import compatibility_brief
from ..plugin_utils.derived import written

SPEC: dict[str, dict[str, Any]] = {"plan": {"type": "dict", "required": True}}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        plan = options["plan"]
        file = Path(plan["packet"]) / "brief.md"
        text = compatibility_brief(plan, datetime.datetime.now(datetime.timezone.utc).date())
        done = written({file: text}, check_mode=self._task.check_mode, diff=self._task.diff)
        if not self._task.check_mode:
            self._display.display(f"Brief: {file}")
        return {**done, "brief": str(file)}
