# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects evidence from the host into the packet: one archive, its hash checked on both sides."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._evidence.store import read_json, write_json
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.text import plain
from ..plugin_utils.packets import Packet, extract, file_sha256, history_pattern, identity_in
from ..plugin_utils.redaction import scrub

SPEC: dict[str, dict[str, Any]] = {
    "packet": {"type": "str", "required": True},
    "state_dir": {"type": "str", "required": True},
    "campaign": {"type": "str", "required": True},
    "lane": {"type": "dict"},
    "verdict": {"type": "dict"},
    "since": {"type": "str", "default": ""},
}


class ActionModule(ActionBase):
    """With ``lane``: that lane's attempts. Without: the reservations' evidence."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC, required_together=[("lane", "verdict")])
        if self._task.check_mode:
            return {"changed": False, "collected": []}
        packet = Packet(Path(options["packet"]))
        try:
            if options["lane"]:
                return {"changed": True, "collected": self._collect_lane(options, packet)}
            return {"changed": True, **self._collect_host(options, packet)}
        except CampaignError as exc:
            raise AnsibleActionFail(str(exc)) from exc

    def _collect_lane(self, options: dict[str, Any], packet: Packet) -> list[str]:
        lane = options["lane"]
        attempt = lane["folder"].rsplit("/", 1)[1]
        with tempfile.TemporaryDirectory() as scratch:
            extracted = Path(scratch) / "lane"
            self._fetch(options["state_dir"], lane["folder"].rsplit("/", 1)[0], "*", extracted)
            placed = packet.place_attempts(lane["name"], extracted, attempt)
        if attempt not in placed:
            packet.set_aside(lane["name"])
        write_lane_documents(packet.lane(lane["name"]), lane, options["verdict"], attempt)
        return placed

    def _collect_host(self, options: dict[str, Any], packet: Packet) -> dict[str, Any]:
        """All reservations of this campaign that were given back; the newest one since ``since`` is this run's."""
        with tempfile.TemporaryDirectory() as scratch:
            extracted = Path(scratch) / "host"
            self._fetch(
                options["state_dir"], f"{options['state_dir']}/history", history_pattern(options["campaign"]), extracted
            )
            names = sorted(path.name for path in extracted.iterdir())
            ours = [name for name in names if name >= options["since"]]
            packet.place_host_files(extracted, ours[-1] if ours else None)
        held = (
            self._low_level_execute_command(
                f"test -d {shlex.quote(options['state_dir'])}/reservation", sudoable=True
            ).get("rc")
            == 0
        )
        return {"collected": names, "restore": restore_document(packet.folder, bool(ours), held)}

    def _fetch(self, state_dir: str, folder: str, pattern: str, target: Path) -> None:
        """Packs the folder's entries on the host, fetches, compares the hashes, unpacks, and only then removes them there.

        Each command is a sign of life for the keeper, too.
        """
        beat = f"touch -c {shlex.quote(state_dir)}/reservation/heartbeat"
        target.mkdir(parents=True)
        remote = self._connection._shell.join_path(self._make_tmp_path(), "evidence.tar.gz")
        quoted, archive = shlex.quote(folder), shlex.quote(remote)
        entries = f"find . -mindepth 1 -maxdepth 1 -type d -name {shlex.quote(pattern)} -print0"
        command = (
            f"{beat}; cd {quoted} 2>/dev/null || exit 3; {entries} | tar --null -T - -czf {archive} "
            f"&& chmod 0644 {archive} && sha256sum {archive} && {entries} | tr '\\0' '\\n'"
        )
        answer = self._low_level_execute_command(command, sudoable=True)
        if answer.get("rc") == 3:
            return
        lines = str(answer.get("stdout", "")).split("\n")
        found = re.match(r"([0-9a-f]{64})\b", lines[0])
        if answer.get("rc") != 0 or not found:
            raise CampaignError(
                f"evidence in {folder} can't be packed on the host: {plain(str(answer.get('stderr') or answer.get('stdout')))}"
            )
        local = target.parent / "evidence.tar.gz"
        self._connection.fetch_file(remote, str(local))
        if file_sha256(local) != found[1]:
            raise CampaignError(
                f"evidence from {folder} changed on its way (sha256 differs); it stays on the host, run the campaign again"
            )
        extract(local, target)
        for name in scrub(target):
            self._display.warning(
                f"{name}: something that looks like a key or token stood in it and was replaced before it became evidence"
            )
        names = [shlex.quote(line) for line in lines[1:] if line.startswith("./")]
        if names:
            self._low_level_execute_command(f"{beat}; cd {quoted} && rm -rf {' '.join(names)}", sudoable=True)


def write_lane_documents(folder: Path, lane: dict[str, Any], verdict: dict[str, Any], attempt: str) -> None:
    """What the controller knows of a lane, beside what the host wrote."""
    identity = identity_in(folder) or lane["identity"]
    role = "final" if verdict["outcome"] not in ("infrastructure", "inconclusive") else "failed"
    documents: dict[str, dict[str, Any]] = {
        **(known_documents(folder, lane, identity) if lane["recipe"] else {"endpoint": {"endpoint": lane["endpoint"]}}),
        "protocols": {
            "suite": lane["suite"],
            "protocols": {
                name: {"text": text, "content": lane["protocols"][name]}
                for name, text in lane["protocol_texts"].items()
            },
        },
        "verdict": verdict,
        "attempt": {"attempt": attempt, "role": role, "reason": verdict["reason"]},
    }
    for name, content in documents.items():
        write_json(folder / f"{name}.json", {"schema": f"tandem.{name}/v1", "identity": identity, **content})


def known_documents(folder: Path, lane: dict[str, Any], identity: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of a lane with a recipe: what was decided before its load, and what stands in for a probe that wasn't needed."""
    engine = lane["recipe"]["engine"]
    documents: dict[str, dict[str, Any]] = {
        "recipe": {"recipe": lane["recipe"]},
        "contract": {"contract": lane["contract"], "findings": lane["findings"]},
        "topology": {"topology": lane["topology"]},
        "snapshot": {"snapshot": lane["snapshot"]},
        "fit": {"fit": lane["fit"]},
        "sources": {"sources": lane["sources"]},
        "image": {
            "image": engine["image"],
            "derived": engine["derived"],
            "lock": engine["lock"],
            "report": lane["image"],
            "reason": no_image(engine, identity),
        },
    }
    if not (folder / "nccl.json").exists():
        documents["nccl"] = {"verdict": "not_run", "reason": no_probe(lane, identity)}
    return documents


def no_probe(lane: dict[str, Any], identity: dict[str, Any]) -> str:
    """Why no transport between GPUs was probed."""
    if identity["simulated"]:
        return "a rehearsal has no GPUs, and no transport between them"
    return "the lane ended before its probe" if lane["collective"] else "one role: there is no collective to probe"


def no_image(engine: dict[str, Any], identity: dict[str, Any]) -> str | None:
    """Why there is no report of an image; None where there is one."""
    if identity["simulated"]:
        return "a rehearsal looks at no image; its engine is played"
    return "the process runtime has no image; the engine lock pins the build" if engine["lock"] else None


def restore_document(packet: Path, given_back: bool, held: bool) -> dict[str, Any]:
    """What the restore came to, from its own evidence and not from a task's word."""
    if held:
        return {
            "verdict": "failed",
            "reason": "the host is not given back: its reservation is still there; run restore.yml",
            "diff_count": None,
        }
    if not given_back:
        return {"verdict": "passed", "reason": "nothing was taken, so nothing had to be given back", "diff_count": 0}
    if not (packet / "state-diff.json").is_file():
        return {
            "verdict": "inconclusive",
            "reason": "no state before was recorded, so none could be compared",
            "diff_count": None,
        }
    difference = read_json(packet / "state-diff.json")
    if difference["count"]:
        first = difference["differences"][0]
        text = f"{difference['count']} differences, the first at {first['path']}: before {first['before']!r}, after {first['after']!r}"
        return {"verdict": "failed", "reason": plain(text), "diff_count": difference["count"]}
    return {"verdict": "passed", "reason": "the state after equals the state before", "diff_count": 0}
