# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a packet offline: hashes, links, verdicts made again from rows, leaks, its signature. Runs on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils._packet.check import check_packet, problems_in_words
from ..module_utils._words.errors import CampaignError

SPEC: dict[str, dict[str, Any]] = {
    "packet": {"type": "str", "required": True},
    "signers": {"type": "str"},
    "signer": {"type": "str"},
}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC, required_together=[("signers", "signer")])
        folder = Path(options["packet"]).expanduser()
        signers = Path(options["signers"]).expanduser() if options["signers"] else None
        try:
            report = check_packet(folder, signers, options["signer"])
        except CampaignError as exc:
            return {"changed": False, "failed": True, "msg": str(exc)}
        result = {"changed": False, **report.as_document()}
        return result if not report.problems else {**result, "failed": True, "msg": problems_in_words(folder, report)}
