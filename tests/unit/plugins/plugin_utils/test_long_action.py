"""What the controller makes of a long module's process on the host: its lines, its result, and its end without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.plugin_utils import long_action
from ansible_collections.tandem.campaign.plugins.plugin_utils.long_action import GONE, GONE_POLLS, MARK, LongAction


class Polled(LongAction):
    """An action whose host answers each poll with the next of the given outputs, the last one again and again."""

    def __init__(self, *outputs: str) -> None:
        self.outputs = list(outputs)
        self.commands: list[str] = []
        self.shown: list[dict[str, Any]] = []

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._follow("/p", "/r", "/h", "host")

    def _low_level_execute_command(self, cmd: str, *_positional: Any, **_options: Any) -> dict[str, Any]:
        self.commands.append(cmd)
        return {"stdout": self.outputs.pop(0) if len(self.outputs) > 1 else self.outputs[0]}

    def show(self, label: str, event: dict[str, Any]) -> int | None:
        self.shown.append(event)
        process = event.get("pid")
        return process if isinstance(process, int) else None


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_action, "POLL_S", (0.0,))


STARTED = json.dumps({"pid": 4711, "text": ""})


def test_the_module_s_result_ends_it() -> None:
    action = Polled(
        f"{STARTED}\n{MARK}\n" + json.dumps({"started": 1}),
        f"{MARK}\n" + json.dumps({"changed": True, "invocation": {}}),
    )
    assert action.run() == {"changed": True}
    assert "/proc/1 " in action.commands[0]
    assert "/proc/4711 " in action.commands[1]


def test_a_module_that_was_killed_is_not_waited_for() -> None:
    action = Polled(f"{STARTED}\n{MARK}\n", f"{GONE}\n{MARK}\n")
    result = action.run()
    assert (result["failed"], result["msg"]) == (
        True,
        "the module's process 4711 was killed on the host; it left no result",
    )
    assert len(action.commands) == 1 + GONE_POLLS


def test_a_process_that_is_gone_while_its_result_is_written_is_no_fault() -> None:
    action = Polled(f"{STARTED}\n{MARK}\n", f"{GONE}\n{MARK}\n", f"{GONE}\n{MARK}\n" + json.dumps({"ok": 1}))
    assert action.run() == {"ok": 1}
