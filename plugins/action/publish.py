# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs a packet, makes its published copy, and checks both. Runs on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils._evidence.store import write_bytes
from ..module_utils._packet.check import PacketReport, check_packet, problems_in_words
from ..module_utils._packet.signature import sign_manifest
from ..module_utils._words.errors import CampaignError, EvidenceError
from ..plugin_utils.programs import packet_check_program
from ..plugin_utils.published import FOLDER, is_current, publish

SPEC: dict[str, dict[str, Any]] = {
    "packet": {"type": "str", "required": True},
    "alias": {"type": "str", "default": "workstation"},
    "signing_key": {"type": "str", "no_log": False},
}
PROGRAM = "packet_check.pyz"


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        packet = Path(options["packet"]).expanduser()
        key = Path(options["signing_key"]).expanduser() if options["signing_key"] else None
        try:
            return self._published(packet, options["alias"], key)
        except CampaignError as exc:
            return {"changed": False, "failed": True, "msg": str(exc)}

    def _published(self, packet: Path, alias: str, key: Path | None) -> dict[str, Any]:
        copy = packet / FOLDER
        changed = not is_current(packet, signed=key is not None)
        if changed and not self._task.check_mode:
            if key:
                sign_manifest(packet, key)
            publish(packet, alias)
            if key:
                sign_manifest(copy, key)
            _put(packet.parents[1] / PROGRAM, packet_check_program())
        for folder in (packet, copy) if copy.is_dir() else (packet,):
            report = check_packet(folder)
            if report.problems:
                raise EvidenceError(problems_in_words(folder, report))
            self._say(folder, report)
        return {"changed": changed, "published": str(copy)}

    def _say(self, folder: Path, report: PacketReport) -> None:
        facts = report.facts
        signed = f", signed with {facts['signed_by']}" if facts["signed_by"] else ""
        self._display.display(
            f"{folder} holds: {facts['files']} files, {len(facts['lanes'])} lanes recomputed from their rows{signed}"
        )


def _put(file: Path, data: bytes) -> None:
    if not file.is_file() or file.read_bytes() != data:
        write_bytes(file, data)
