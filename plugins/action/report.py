# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the report of a packet and of its published copy, or one page over many packets. Runs on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._packet.folder import MANIFEST
from ..module_utils._words.errors import CampaignError
from ..plugin_utils.derived import written
from ..plugin_utils.figure import can_draw
from ..plugin_utils.published import FOLDER
from ..plugin_utils.report_files import ALL_FORMATS, FILES, FORMATS, many_report_files, report_files

SPEC: dict[str, dict[str, Any]] = {
    "packet": {"type": "str"},
    "packets": {"type": "list", "elements": "str"},
    "dest": {"type": "str"},
    "formats": {"type": "list", "elements": "str", "choices": list(ALL_FORMATS), "default": list(FORMATS)},
    "raw": {"type": "bool", "default": True},
}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(
            argument_spec=SPEC,
            mutually_exclusive=[("packet", "packets")],
            required_one_of=[("packet", "packets")],
            required_together=[("packets", "dest")],
        )
        try:
            files = made(options)
        except CampaignError as exc:
            raise AnsibleActionFail(str(exc)) from exc
        done = written(files, check_mode=self._task.check_mode, diff=self._task.diff)
        first = [str(file) for file in files if file.name in FILES.values()]
        for file in first if not self._task.check_mode else ():
            self._display.display(f"Report: {file}")
        return {**done, "report": first[0] if first else None, "reports": first, **_without_pictures()}


def made(options: dict[str, Any]) -> dict[Path, str]:
    """File -> text of everything that was asked for."""
    formats = options["formats"]
    if options["packets"]:
        folder = Path(options["dest"]).expanduser()
        packets = [Path(packet).expanduser() for packet in options["packets"]]
        return {folder / path: text for path, text in many_report_files(packets, formats).items()}
    packet = Path(options["packet"]).expanduser()
    folders = [packet, packet / FOLDER] if (packet / FOLDER / MANIFEST).is_file() else [packet]
    return {
        folder / path: text
        for folder in folders
        for path, text in report_files(folder, formats, raw=options["raw"]).items()
    }


def _without_pictures() -> dict[str, Any]:
    if can_draw():
        return {}
    return {"warnings": ["the report has no pictures: `pip install matplotlib` for Ansible's Python draws them"]}
