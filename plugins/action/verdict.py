# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides a lane's outcome, and at the end the host's; prints the outcome table. Runs on the controller."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._evidence.record import utc
from ..module_utils._evidence.store import read_json, write_json
from ..module_utils._gates.verdicts import judge_host, judge_lane
from ..module_utils._words.documents import from_document, to_document
from ..module_utils._words.errors import EvidenceError
from ..module_utils._words.suite import Suite
from ..module_utils._words.text import plain
from ..module_utils._words.verdict import VERDICT_SCHEMA, Caveat, LaneResult, ProfileResult, RestoreResult
from ..plugin_utils.outcome_table import SIMULATED, outcome_rows, text_table
from ..plugin_utils.packets import Packet
from ..plugin_utils.report import markdown_report
from ..plugin_utils.tickets import FOLDER, keep_tickets

SPEC: dict[str, dict[str, Any]] = {
    "scope": {"type": "str", "choices": ["lane", "host"], "required": True},
    "lane": {"type": "dict"},
    "profiles": {"type": "list", "elements": "dict", "default": []},
    "fault": {"type": "str", "default": ""},
    "unproven": {"type": "list", "elements": "str", "default": []},
    "plan": {"type": "dict"},
    "restored": {"type": "dict"},
    "fail_on": {
        "type": "list",
        "elements": "str",
        "default": ["rejected", "inconclusive", "infrastructure", "unrestored"],
    },
}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(
            argument_spec=SPEC, required_if=[("scope", "lane", ("lane",)), ("scope", "host", ("plan",))]
        )
        return self._lane(options) if options["scope"] == "lane" else self._host(options)

    def _lane(self, options: dict[str, Any]) -> dict[str, Any]:
        lane = options["lane"]
        profiles = tuple(from_document(ProfileResult, profile) for profile in options["profiles"])
        result = judge_lane(
            from_document(Suite, lane["suite"]),
            lane["lane_key"],
            profiles,
            plain(options["fault"], 600) or None,
            tuple(plain(text, 200) for text in options["unproven"]),
            tuple(Caveat("snapshot", plain(text, 400)) for text in (lane["snapshot"] or {}).get("caveats", [])),
        )
        self._display.display(
            f"  {lane['identity']['host']} | {lane['name']} | {result.outcome}: {plain(result.reason, 300)}"
        )
        return {"changed": False, "lane": to_document(result)}

    def _host(self, options: dict[str, Any]) -> dict[str, Any]:
        plan = options["plan"]
        packet = Packet(Path(plan["packet"]))
        # With nothing left to run the stored verdict is the verdict: it is printed again, never decided anew.
        stored = (
            packet.verdict.is_file()
            and not plan["to_run"]
            and all(lane["action"] == "complete" for lane in plan["lanes"])
        )
        document = (
            read_json(packet.verdict) if stored else host_document(plan, packet, options["restored"], options["fault"])
        )
        if not stored and not self._task.check_mode:
            self._write(packet, document, plan)
        self._table(document, packet)
        failures = policy_failures(document, options["fail_on"])
        if failures and not self._task.check_mode:
            raise AnsibleActionFail(
                f"campaign {document['campaign']} on {document['host']}: {'; '.join(failures)}. Report: {packet.folder}/report.md"
            )
        return {"changed": not stored, "verdict": document, "report": str(packet.folder / "report.md")}

    def _write(self, packet: Packet, document: dict[str, Any], plan: dict[str, Any]) -> None:
        write_json(packet.verdict, document)
        names = [lane["name"] for lane in plan["lanes"]]
        write_json(
            packet.folder / "campaign.json",
            {
                "schema": "tandem.campaign/v1",
                "identity": plan["identity"],
                "recipes": names,
                "finished_at": utc(time.time()),
            },
        )
        write_json(
            packet.folder / "host.json",
            {"schema": "tandem.host/v1", "identity": plan["identity"], "facts": plan["facts"]},
        )
        packet.write_manifest(plan["identity"])
        (packet.folder / "report.md").write_text(markdown_report(packet.folder), encoding="utf-8")
        self._tickets(packet, document, plan)

    def _tickets(self, packet: Packet, document: dict[str, Any], plan: dict[str, Any]) -> None:
        """A record that can't be read is somebody's edit, and no reason to lose a verdict."""
        try:
            for ticket in keep_tickets(packet.folder, document, plan):
                self._display.display(f"Ticket: {ticket}")
        except (EvidenceError, OSError, KeyError) as exc:
            self._display.warning(f"tickets in {packet.folder.parent / FOLDER} can't be kept: {plain(str(exc))}")

    def _table(self, document: dict[str, Any], packet: Packet) -> None:
        self._display.display("")
        for line in text_table(outcome_rows(document["lanes"])):
            self._display.display(line)
        if document["simulated"]:
            self._display.display(f"\n{SIMULATED}")
        restore = document["restore"]
        self._display.display(f"\n{document['host']}: {document['outcome']}: {plain(document['reason'], 300)}")
        self._display.display(f"{document['host']}: restore {restore['verdict']}: {plain(restore['reason'], 200)}")
        self._display.display(f"Report: {packet.folder / 'report.md'}\n")


def host_document(plan: dict[str, Any], packet: Packet, restored: dict[str, Any] | None, fault: str) -> dict[str, Any]:
    """verdict.json from the lanes' verdicts in the packet and what the restore came to."""
    identity = plan["identity"]
    lanes = [from_document(LaneResult, lane_result(plan, lane, packet, fault)) for lane in plan["lanes"]]
    restore = (
        from_document(RestoreResult, restored)
        if restored
        else RestoreResult("passed", "nothing was taken, so nothing had to be given back", 0)
    )
    outcome, reason = judge_host(lanes, restore.verdict == "passed")
    return {
        "schema": VERDICT_SCHEMA,
        "identity": identity,
        "campaign": identity["campaign"],
        "host": identity["host"],
        "outcome": outcome,
        "reason": reason,
        "simulated": identity["simulated"],
        "restore": to_document(restore),
        "promotion": "none",
        "lanes": to_document(lanes),
    }


def lane_result(plan: dict[str, Any], lane: dict[str, Any], packet: Packet, fault: str) -> dict[str, Any]:
    """One lane's result: stored, just collected, refused, or never reached."""
    folder = packet.lane(lane["name"])
    blank = {"recipe": lane["name"], "lane_key": lane["lane_key"], "caveats": [], "control": None, "profiles": []}
    if lane["refusal"]:
        return {
            **blank,
            "outcome": lane["outcome_if_refused"],
            "reason": f"refused before anything was touched: {lane['refusal']}",
        }
    collected = (folder / "attempt.json").is_file() and read_json(folder / "attempt.json")["attempt"] == plan["attempt"]
    if lane["stored"] or collected:
        document = lane["stored"] or read_json(folder / "verdict.json")
        return {key: document[key] for key in ("outcome", "reason", *blank)}
    return {**blank, "outcome": "infrastructure", "reason": plain(fault, 600) or "the campaign ended before this lane"}


def policy_failures(document: dict[str, Any], fail_on: list[str]) -> list[str]:
    """What the policy counts as a failure. A control that wasn't caught always is one."""
    failures = [
        f"{lane['recipe']} {lane['outcome']}: {lane['reason']}"
        for lane in document["lanes"]
        if lane["control"] is None and lane["outcome"] in fail_on
    ]
    failures += [
        f"the control {lane['recipe']} was not caught"
        for lane in document["lanes"]
        if lane["control"] and not lane["control"]["met"]
    ]
    if document["lanes"] and all(lane["outcome"] == "not_run" for lane in document["lanes"]):
        failures.append(
            f"no lane could be run here; {document['lanes'][0]['recipe']}: {document['lanes'][0]['reason']}"
        )
    if "unrestored" in fail_on and document["restore"]["verdict"] != "passed":
        failures.append(f"restore {document['restore']['verdict']}: {document['restore']['reason']}")
    return failures
