# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the snapshot proof's progress."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.long_action import LongAction
from ..plugin_utils.programs import verifier_path, verifier_program


class ActionModule(LongAction):
    """Runs the module of the same name with progress in bytes and rate."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = {key: value for key, value in self._task.args.items() if key not in ("state_dir", "timeline")}
        label = str((task_vars or {}).get("inventory_hostname", ""))
        state_dir = str(self._task.args.get("state_dir") or "/tmp")
        if self._task.args.get("state_dir"):
            arguments.setdefault("receipts", f"{state_dir}/receipts")
        if arguments.get("volume") and not self._task.check_mode:
            arguments["verifier"] = verifier_path(state_dir)
            try:
                self.put_program("verify.pyz", verifier_program, arguments["verifier"])
            except OSError as exc:
                return {"failed": True, "msg": str(exc)}
        return self.run_long("snapshot_verify", arguments, task_vars or {}, state_dir=state_dir, label=label)
