"""Loading: fail fast, give up in time, ready only when a completion came back, live compared with planned."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.load import read_back, wait_ready
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EngineError
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.tests.fakes.server import completion, scripted

RUNNING = {"running": True, "exit_text": None, "process": {"pid": os.getpid()}}


def plan(url: str = "http://127.0.0.1:1", **more: Any) -> LaunchPlan:
    port = int(url.rsplit(":", 1)[1])
    fields: dict[str, Any] = {
        "recipe": "r", "engine": "llama_cpp", "runtime": "process", "argv": ("x",), "environment": {}, "served_name": "m", "snapshot": "/s",
        "host": "127.0.0.1", "port": port, "start_s": 0.5, "stop_s": 1.0, "context_tokens": 4096, "max_requests": 1, "roles": {},
    }  # fmt: skip
    return LaunchPlan(**{**fields, **more})


def script(**answers: Any) -> Any:
    pages = {
        "/health": (200, {}), "/v1/models": (200, {"data": [{"id": "m"}]}), "/v1/chat/completions": (200, completion("ok", stream=False)),
        "/metrics": (200, b"llamacpp:spec_decode_num_drafts_total 0\n"),
        "/props": (200, {"default_generation_settings": {"n_ctx": 4096, "params": {"speculative.types": "none"}}, "total_slots": 1, "model_path": "/s/w"}),
        **answers,
    }  # fmt: skip
    return lambda _method, path, _body: pages[path]


def test_an_engine_that_ended_is_noticed_at_once_with_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("loading\n\x1b[31mModuleNotFoundError: No module named 'accelerate'\x1b[0m\n")
    status = {"running": False, "exit_text": "ended with exit status 1"}
    with pytest.raises(EngineError, match=r"ended with exit status 1 after 0\.0 s") as caught:
        wait_ready(plan(start_s=60), lambda: status, log, lambda _text: None)
    assert caught.value.facts["log_tail"] == ["loading", "ModuleNotFoundError: No module named 'accelerate'"]


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        ({"/health": (503, {})}, "no health"),
        ({"/v1/models": (200, {"data": [{"id": "other"}]})}, "no model 'm' in /v1/models"),
        ({"/v1/chat/completions": (200, completion("", stream=False, usage=(1, 0)))}, "no a real completion"),
        ({"/v1/chat/completions": (500, {})}, "no a real completion"),
    ],
)
def test_ready_needs_all_three_and_the_limit_holds(tmp_path: Path, answers: dict[str, Any], missing: str) -> None:
    with (
        scripted(script(**answers)) as server,
        pytest.raises(EngineError, match=f"not ready after 0.5 s .*: {missing}"),
    ):
        wait_ready(plan(server.url), lambda: RUNNING, tmp_path / "log", lambda _text: None)


def test_up_but_locked_is_said_at_once(tmp_path: Path) -> None:
    with scripted(script(**{"/health": (401, {})})) as server, pytest.raises(EngineError, match="up but locked"):
        wait_ready(plan(server.url, start_s=60), lambda: RUNNING, tmp_path / "log", lambda _text: None)


def test_ready(tmp_path: Path) -> None:
    with scripted(script()) as server:
        assert wait_ready(plan(server.url), lambda: RUNNING, tmp_path / "log", lambda _text: None) < 0.5


def test_the_live_configuration_is_compared(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("xllamacpp 1.2.3\n")
    argv = tuple(Path("/proc/self/cmdline").read_text().rstrip("\0").split("\0"))
    with scripted(script()) as server:
        good = read_back(plan(server.url, argv=argv), {"pid": os.getpid()}, tmp_path / "log", 1.0)
        bad = read_back(
            plan(server.url, argv=("other",), environment={"NCCL_X": "1"}, context_tokens=8192, snapshot="/elsewhere"),
            {"pid": os.getpid()}, tmp_path / "log", 1.0,
        )  # fmt: skip
    assert (good.version, good.deviations) == ("1.2.3", ())
    assert [text.split(":")[0] for text in bad.deviations] == [
        "argv",
        "environment NCCL_X",
        "context_tokens",
        "model path",
    ]
