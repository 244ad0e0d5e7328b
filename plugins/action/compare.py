# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets two packets, or two campaigns host by host, against each other. Runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._words.errors import CampaignError, InputError
from ..plugin_utils.compare import WORST_FIRST, compared
from ..plugin_utils.compare_report import FIGURES, comparison_blocks, figure_row, rows_of
from ..plugin_utils.compare_rules import LESS_IS_BETTER
from ..plugin_utils.compare_sides import side_of
from ..plugin_utils.derived import written
from ..plugin_utils.outcome_table import text_table
from ..plugin_utils.packets import packets_below
from ..plugin_utils.report_files import FORMATS, block_files

SPEC: dict[str, dict[str, Any]] = {
    "before": {"type": "str", "required": True},
    "after": {"type": "str", "required": True},
    "dest": {"type": "str"},
    "thresholds": {"type": "dict", "default": {}},
    "baseline": {"type": "bool", "default": False},
    "lanes": {"type": "dict", "default": {}},
    "formats": {"type": "list", "elements": "str", "choices": list(FORMATS), "default": list(FORMATS)},
    "fail_on": {"type": "list", "elements": "str", "choices": list(WORST_FIRST), "default": []},
}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        try:
            thresholds = thresholds_of(options["thresholds"])
            pairs = pairs_of(*(Path(options[name]).expanduser() for name in ("before", "after")))
            documents = {host: _document(old, new, thresholds, options) for host, (old, new) in pairs.items()}
        except CampaignError as exc:
            raise AnsibleActionFail(str(exc)) from exc
        return self._answer(documents, options)

    def _answer(self, documents: Mapping[str, dict[str, Any]], options: dict[str, Any]) -> dict[str, Any]:
        for document in documents.values():
            self._show(document)
        files = comparison_files(documents, options["formats"]) if options["dest"] else {}
        folder = Path(options["dest"] or ".").expanduser()
        done = written(
            {folder / path: text for path, text in files.items()},
            check_mode=self._task.check_mode,
            diff=self._task.diff,
        )
        first = [str(folder / path) for path in files if path.endswith(("comparison.md", "comparison.html"))]
        for file in first if not self._task.check_mode else ():
            self._display.display(f"Report: {file}")
        result = {**done, "comparisons": list(documents.values()), "reports": first}
        failures = [
            f"{name}: {document['verdict']}"
            for name, document in documents.items()
            if document["verdict"] in options["fail_on"]
        ]
        return {**result, "failed": True, "msg": f"compared, and {'; '.join(failures)}"} if failures else result

    def _show(self, document: dict[str, Any]) -> None:
        self._display.display(
            f"\n{document['before']['packet']} against {document['after']['packet']}: {document['verdict']}"
        )
        thresholds = document["thresholds"]
        rows = [figure_row(*row) for row in rows_of(document) if not thresholds or row[2]["tag"] in thresholds]
        for line in text_table(rows, FIGURES) if rows else ():
            self._display.display(line)
        for lane in document["lanes"]:
            for reason in [
                *([lane["refused"]] if lane["refused"] else []),
                *(text for timed in lane["capacity"] for text in timed["refused"]),
            ]:
                self._display.display(f"  {lane['after']}: refused: {reason}")


def thresholds_of(given: Mapping[str, Any]) -> dict[str, float]:
    """Metric -> share, as it was declared. Raises :class:`InputError` that names what may stand there."""
    for tag, share in given.items():
        if tag not in LESS_IS_BETTER:
            raise InputError(f"thresholds: there is no figure {tag!r}; there are {', '.join(LESS_IS_BETTER)}")
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share < 1:
            raise InputError(f"thresholds: {tag} is {share!r}; a share between 0 and 1 is wanted, 0.05 for 5 %")
    return {tag: float(share) for tag, share in given.items()}


def pairs_of(before: Path, after: Path) -> dict[str, tuple[Path, Path]]:
    """Host -> its two packets. Two packets are one pair, whatever their hosts; of two campaigns the hosts that both have."""
    old, new = packets_below(before), packets_below(after)
    if len(old) == len(new) == 1:
        return {next(iter(new)): (next(iter(old.values())), next(iter(new.values())))}
    shared = [host for host in old if host in new]
    if not shared:
        raise InputError(
            f"{before} has {', '.join(old)}, {after} has {', '.join(new)}: no host is in both; name two packets' folders"
        )
    return {host: (old[host], new[host]) for host in shared}


def _document(before: Path, after: Path, thresholds: Mapping[str, float], options: dict[str, Any]) -> dict[str, Any]:
    old, new = side_of(before), side_of(after)
    for side, names in ((old, options["lanes"]), (new, options["lanes"].values())):
        if unknown := [repr(name) for name in names if name not in side.lanes]:
            raise InputError(f"lanes: {side.name} has no {', '.join(unknown)}; it has {', '.join(side.lanes)}")
    return compared(old, new, thresholds, baseline=options["baseline"], lanes=options["lanes"])


def comparison_files(documents: Mapping[str, dict[str, Any]], formats: list[str]) -> dict[str, str]:
    """Path -> text; with several hosts a folder each."""
    files: dict[str, str] = {}
    for host, document in documents.items():
        place = f"{host}/" if len(documents) > 1 else ""
        title = f"{document['before']['packet']} against {document['after']['packet']}"
        made = block_files(tuple(comparison_blocks(document)), title, formats, "comparison")
        files |= {f"{place}{path}": text for path, text in made.items()}
        files[f"{place}comparison.json"] = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return files
