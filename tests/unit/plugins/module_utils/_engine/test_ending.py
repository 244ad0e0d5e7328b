"""What an exit status means, and what it doesn't."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.ending import ExitStatus, container_exit


def event(action: str, **attributes: str) -> dict[str, Any]:
    return {"Type": "container", "Action": action, "Actor": {"ID": "c", "Attributes": attributes}}


@pytest.mark.parametrize(
    ("state", "events", "ours", "text"),
    [
        ({"ExitCode": 1}, [event("die", exitCode="1")], False, "ended with exit status 1"),
        ({"ExitCode": 0}, [], False, "ended with exit status 0"),
        ({"ExitCode": 127}, [], False, "ended with exit status 127 (the program was not found in the image)"),
        ({"ExitCode": 136}, [], False, "killed by SIGFPE (exit status 136, a floating-point exception)"),
        ({"ExitCode": 139}, [], False, "killed by SIGSEGV (exit status 139, a segmentation fault)"),
        ({"ExitCode": 137}, [], True, "killed by SIGKILL (exit status 137, our own stop)"),
        ({"ExitCode": 143}, [], True, "killed by SIGTERM (exit status 143, our own stop)"),
        (
            {"ExitCode": 137, "OOMKilled": True},
            [],
            False,
            "killed by SIGKILL (exit status 137, out of memory: the kernel killed it)",
        ),
        (
            {"ExitCode": 137},
            [event("oom")],
            False,
            "killed by SIGKILL (exit status 137, out of memory: the kernel killed it)",
        ),
        (
            {"ExitCode": 137},
            [event("kill", signal="15"), event("kill", signal="9")],
            False,
            "killed by SIGKILL (exit status 137, somebody stopped it through the Docker Engine, signal 15, 9)",
        ),
        (
            {"ExitCode": 137},
            [event("die")],
            False,
            "killed by SIGKILL (exit status 137, killed from outside; neither a memory limit nor a stop of ours)",
        ),
        ({"ExitCode": 255}, [], False, "ended with exit status 255"),
    ],
)
def test_meaning(state: dict[str, Any], events: list[dict[str, Any]], ours: bool, text: str) -> None:
    """Case I14 among them: 137 after our own stop is not out of memory."""
    assert container_exit(state, events, ours=ours).describe() == text


def test_a_container_that_somebody_removed() -> None:
    gone = ExitStatus(None, None, oom=False, by="its container is gone: somebody removed it")
    assert gone.describe() == "ended: its container is gone: somebody removed it"
