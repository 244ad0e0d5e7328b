# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Long modules with live progress: started asynchronously, polled with a low-level ``tail`` that is also the keeper's heartbeat."""

from __future__ import annotations

import json
import secrets
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils._words.text import plain

MARK = "==tandem-result=="
GONE = "==tandem-gone=="
#: Polls in a row without process and without result after which a module counts as killed.
GONE_POLLS = 4
#: Seconds between polls: short at first, so that a quick module isn't waited for.
POLL_S = (0.15, 0.25, 0.5, 1.0)
LIMIT_S = 7 * 24 * 3600


class LongAction(ActionBase):
    """Base of the action plugins whose module runs for seconds to hours."""

    _supports_check_mode = True
    _supports_async = False

    def run_long(
        self, module: str, arguments: dict[str, Any], task_vars: dict[str, Any], *, state_dir: str, label: str
    ) -> dict[str, Any]:
        """Runs ``tandem.campaign.<module>``; shows its progress; returns its result. Check mode calls it as any other module."""
        name = f"tandem.campaign.{module}"
        if self._task.check_mode:
            return dict(self._execute_module(module_name=name, module_args=arguments, task_vars=task_vars))
        progress = f"{state_dir}/progress-{secrets.token_hex(6)}.jsonl"
        started = self._start(name, {**arguments, "progress": progress}, task_vars)
        if "results_file" not in started:
            return started
        try:
            return self._follow(progress, started["results_file"], f"{state_dir}/reservation/heartbeat", label)
        finally:
            self._clean(progress, started["results_file"])

    def _start(self, name: str, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        before = self._task.async_val
        self._task.async_val = LIMIT_S
        try:
            return dict(
                self._execute_module(module_name=name, module_args=arguments, task_vars=task_vars, wrap_async=True)
            )
        finally:
            self._task.async_val = before

    def _follow(self, progress: str, results: str, heartbeat: str, label: str) -> dict[str, Any]:
        line, poll, gone = 1, 0, 0
        process: int | None = None
        while True:
            # Without a process to look for, pid 1 always lives.
            command = (
                f"touch -c {shlex.quote(heartbeat)}; test -d /proc/{process or 1} || echo {GONE}; "
                f"tail -n +{line} {shlex.quote(progress)} 2>/dev/null; echo {MARK}; cat {shlex.quote(results)} 2>/dev/null"
            )
            answer = self._low_level_execute_command(command, sudoable=True)
            shown, _mark, result = str(answer.get("stdout", "")).partition(MARK)
            lines = shown.splitlines()
            gone = gone + 1 if GONE in lines else 0
            for text in lines:
                if text.strip() and text != GONE:
                    line += 1
                    process = self.show(label, as_document(text)) or process
            document = as_document(result)
            # While it runs the file holds Ansible's own note, with `started`; at the end it holds the module's result.
            if document and "started" not in document:
                return _plain_result(document)
            if gone >= GONE_POLLS:
                return {
                    "failed": True,
                    "msg": f"the module's process {process} was killed on the host; it left no result",
                }
            time.sleep(POLL_S[min(poll, len(POLL_S) - 1)])
            poll += 1

    def show(self, label: str, event: dict[str, Any]) -> int | None:
        """Prints an event; returns the process id where it brings one."""
        if event.get("text"):
            self._display.display(f"  {plain(label, 80)} | {plain(str(event['text']), 200)}")
            self.note(event)
        process = event.get("pid")
        return process if isinstance(process, int) else None

    def note(self, event: dict[str, Any]) -> None:
        """Keeps a progress event in the packet's timeline, with the recipe that it is about."""
        timeline = self._task.args.get("timeline")
        if timeline:
            recipe = (self._task.args.get("identity") or {}).get("recipe")
            file = Path(str(timeline))
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"schema": "tandem.timeline/v1", "recipe": recipe, **event}) + "\n")

    def _clean(self, *files: str) -> None:
        try:
            self._low_level_execute_command(f"rm -f {' '.join(map(shlex.quote, files))}", sudoable=True)
        except AnsibleConnectionFailure:
            return

    def put_program(self, name: str, build: Callable[[], bytes], path: str) -> None:
        """Puts a program of ours on the host, once: its path holds its hash, so what lies there is what is meant."""
        if self._remote_file_exists_at(path):
            return
        temporary = self._connection._shell.join_path(self._make_tmp_path(), name)
        self._transfer_data(temporary, build())
        folder = path.rsplit("/", 1)[0]
        command = f"mkdir -p {shlex.quote(folder)} && cp {shlex.quote(temporary)} {shlex.quote(path)}.new && mv {shlex.quote(path)}.new {shlex.quote(path)}"
        answer = self._low_level_execute_command(command, sudoable=True)
        if answer.get("rc") != 0:
            raise OSError(
                f"{path} can't be written on the host: {plain(str(answer.get('stderr') or answer.get('stdout')))}"
            )

    def _remote_file_exists_at(self, path: str) -> bool:
        return bool(self._low_level_execute_command(f"test -s {shlex.quote(path)}", sudoable=True).get("rc") == 0)


def as_document(text: str) -> dict[str, Any]:
    """A line's JSON object; empty where it is none."""
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _plain_result(document: dict[str, Any]) -> dict[str, Any]:
    """The module's result without what only Ansible's own transport can read."""
    if document.get("failed") and "failure" not in document and not document.get("msg"):
        # Ended without a result of its own: a fault that main() does not know.
        event = document.get("exception")
        text = event.get("event", {}).get("msg") if isinstance(event, dict) else event
        document["msg"] = f"the module ended by an unexpected fault: {plain(str(text or 'no message'), 800)}"
    return {key: value for key, value in document.items() if key not in ("invocation", "exception", "ansible_job_id")}
