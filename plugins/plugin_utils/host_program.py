# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the keeper's program on a host without packing a module: started detached, followed by low-level commands that wait there.

A module of this size costs a third of a second more at each call; the program lies on the host already, as whoever heals it by hand needs it.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from ..module_utils._words.text import plain
from .long_action import LongAction, as_document
from .programs import keeper_path, keeper_program

#: The same default as ``_host.probe.default_state_dir``, asked of the host's own shell.
DEFAULT_STATE_DIR = 'if [ "$(id -u)" = 0 ]; then d=/var/lib/tandem-campaign; else d="${XDG_STATE_HOME:-$HOME/.local/state}/tandem-campaign"; fi'
#: On the host: until there is another line, or the process is gone, or a second has passed.
WAIT = (
    'i=0; while [ $i -lt 20 ] && kill -0 {pid} 2>/dev/null && [ "$(wc -l < out)" -lt {line} ]; do sleep 0.05; i=$((i+1)); done; '
    "kill -0 {pid} 2>/dev/null || echo {gone}; tail -n +{line} out"
)
GONE = "==tandem-gone=="


class HostProgramAction(LongAction):
    """Base of the action plugins that act through ``keeper.pyz call``."""

    def look(self, state_dir: str) -> tuple[str, bool, bool]:
        """(the state folder, whether a reservation lies in it, whether this version's program does), by one command."""
        named = f"d={shlex.quote(state_dir)}" if state_dir else DEFAULT_STATE_DIR
        program = keeper_path("$d")
        answer = self._low_level_execute_command(
            f'{named}; echo "$d"; test -d "$d/reservation" && echo reserved; test -d "{program}" && echo present; true',
            sudoable=True,
        )
        lines = str(answer.get("stdout", "")).split("\n")
        return lines[0].strip(), "reserved" in lines, "present" in lines

    def call_program(
        self,
        request: dict[str, Any],
        task_vars: dict[str, Any],
        *,
        state_dir: str,
        present: bool,
        keep: bool,
        label: str = "",
    ) -> dict[str, Any]:
        """The program's result. ``keep``: it is put among the state folder's programs; otherwise it only lies in the task's own folder.

        ``label`` stands before each line of progress (default: the host's name).
        """
        scratch, python = self._make_tmp_path(), self._interpreter(task_vars)
        if keep:
            program = keeper_path(state_dir)
            if not present:
                self._keep_program(state_dir, program, python)
        else:
            program = self._connection._shell.join_path(scratch, "keeper.pyz")
            self._transfer_data(program, keeper_program())
        asked = self._connection._shell.join_path(scratch, "request.json")
        # In the order that it has: engines keep a schema's order of properties in what they write.
        self._transfer_data(asked, json.dumps(request, ensure_ascii=False))
        # Another user may be become; nothing is run that would need the executable bit.
        self._fixup_perms2((scratch, asked, *(() if keep else (program,))), execute=False)
        command = " ".join(map(shlex.quote, (python, "-I", program, "call", "--state-dir", state_dir)))
        start = (
            f"cd {shlex.quote(scratch)} && : > out && {{ {command} < request.json >> out 2> err & }} && p=$! && echo $p"
        )
        return self._follow_program(
            f"{start} && {WAIT.format(pid='$p', line=1, gone=GONE)}",
            scratch,
            state_dir,
            label or str(task_vars.get("inventory_hostname", "")),
        )

    def _keep_program(self, state_dir: str, path: str, python: str) -> None:
        """As one file and unpacked; ``keeper.pyz`` is the name for people: ``python3 <state dir>/keeper.pyz restore``."""
        self.put_program("keeper.pyz", keeper_program, f"{path}.pyz")
        quoted, link = shlex.quote(path), f"ln -sfn {shlex.quote(path)}.pyz {shlex.quote(state_dir)}/keeper.pyz"
        unpack = f"rm -rf {quoted}.new && {shlex.quote(python)} -m zipfile -e {quoted}.pyz {quoted}.new && mv -T {quoted}.new {quoted}"
        answer = self._low_level_execute_command(
            f"{link}; test -d {quoted} || {{ {unpack}; }} || test -d {quoted}", sudoable=True
        )
        if answer.get("rc") != 0:
            raise OSError(
                f"{path} can't be unpacked on the host: {plain(str(answer.get('stderr') or answer.get('stdout')))}"
            )

    def _follow_program(self, start: str, scratch: str, state_dir: str, label: str) -> dict[str, Any]:
        answer = self._low_level_execute_command(start, sudoable=True)
        pid, _newline, shown = str(answer.get("stdout", "")).partition("\n")
        if not pid.strip().isdigit():
            return _failed(f"the keeper's program can't be started: {answer.get('stderr') or answer.get('stdout')}")
        line = 1
        beat = f"touch -c {shlex.quote(state_dir)}/reservation/heartbeat; cd {shlex.quote(scratch)}"
        while True:
            lines = [text for text in shown.splitlines() if text.strip()]
            for text in lines:
                event = as_document(text)
                if "result" in event:
                    return dict(event["result"])
                if "error" in event:
                    return {"failed": True, **event["error"]}
                self.show(label, event)
            line += len(lines) - lines.count(GONE)
            if GONE in lines:
                fault = self._low_level_execute_command(f"tail -c 800 {shlex.quote(scratch)}/err", sudoable=True)
                return _failed(
                    f"the keeper's program (pid {pid}) ended without an answer: {fault.get('stdout') or 'it was killed'}"
                )
            wait = WAIT.format(pid=pid, line=line, gone=GONE)
            shown = str(self._low_level_execute_command(f"{beat}; {wait}", sudoable=True).get("stdout", ""))

    def _interpreter(self, task_vars: dict[str, Any]) -> str:
        """The host's Python as the inventory says or as Ansible has found it; the program needs nothing but the standard library."""
        named = self._templar.template(task_vars.get("ansible_python_interpreter") or "")
        found = task_vars.get("ansible_facts", {}).get("discovered_interpreter_python")
        return str(named) if named and not str(named).startswith("auto") else str(found or "python3")


def _failed(message: str) -> dict[str, Any]:
    return {"failed": True, "msg": plain(message, 1200)}
