"""Loading: fail fast, give up in time, ready only when a completion came back, live compared with planned."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine import load as load_module
from ansible_collections.tandem.campaign.plugins.module_utils._engine.load import Loading
from ansible_collections.tandem.campaign.plugins.module_utils._engine.process import ProcessRuntime
from ansible_collections.tandem.campaign.plugins.module_utils._engine.read_back import Loaded, read_back
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EngineError
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.signatures import own_signatures
from ansible_collections.tandem.campaign.tests.fakes.server import completion, scripted

RUNNING: dict[str, Any] = {"running": True, "exit_text": None, "identity": {}}
ENDED: dict[str, Any] = {"running": False, "exit_text": "ended with exit status 1"}
SIGFPE: dict[str, Any] = {
    "running": False,
    "exit_text": "killed by SIGFPE (exit status 136, a floating-point exception)",
}


class Scripted(ProcessRuntime):
    """An engine that ends when a test says so."""

    def __init__(self) -> None:
        self.end: Callable[[], None] = lambda: None

    def watch(self, identity: Mapping[str, Any], on_end: Callable[[], None]) -> Any:
        self.end = on_end
        return type("Watch", (), {"close": lambda _self: None})()

    def die(self) -> None:
        self.end()


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


def wait(
    plan: LaunchPlan, log: Path, status: Callable[[], Any] = lambda: RUNNING, runtime: Any = None, where: str = ""
) -> float:
    return Loading(
        plan, runtime or Scripted(), {}, status, log, lambda _text: None, where, own_signatures()
    ).wait_ready()


def failure(plan: LaunchPlan, log: Path, **options: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        wait(plan, log, **options)
    return caught.value


def test_an_engine_that_ended_is_noticed_at_once_with_its_last_lines(tmp_path: Path) -> None:
    """Case D1: the word timeout is not used, the missing module is named."""
    log = tmp_path / "log"
    log.write_text("loading\n\x1b[31mModuleNotFoundError: No module named 'accelerate'\x1b[0m\n")
    runtime = Scripted()
    threading.Timer(0.2, runtime.die).start()
    begun = time.monotonic()
    error = failure(
        plan(start_s=60), log, status=lambda: ENDED if time.monotonic() - begun > 0.2 else RUNNING, runtime=runtime
    )
    assert time.monotonic() - begun < 10
    assert re.search(r"ended with exit status 1 after 0\.\d s, before it was ready", str(error))
    assert "lacks the Python module accelerate" in str(error)
    assert "time" not in str(error)
    assert error.facts["log_tail"] == ["loading", "ModuleNotFoundError: No module named 'accelerate'"]


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        ({"/health": (503, {})}, "no health"),
        ({"/v1/models": (200, {"data": [{"id": "other"}]})}, r"no model 'm' in /v1/models \(the server lists other\)"),
        ({"/v1/chat/completions": (200, completion("", stream=False, usage=(1, 0)))}, "no a real completion"),
        ({"/v1/chat/completions": (500, {})}, "no a real completion"),
    ],
)
def test_ready_needs_all_three_and_the_limit_holds(tmp_path: Path, answers: dict[str, Any], missing: str) -> None:
    with (
        scripted(script(**answers)) as server,
        pytest.raises(EngineError, match=f"not ready after 0.5 s .*: {missing}"),
    ):
        wait(plan(server.url), tmp_path / "log")


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/v1/chat/completions"])
def test_up_but_locked_is_said_at_once(tmp_path: Path, path: str) -> None:
    """Case D15 without its key."""
    with scripted(script(**{path: (401, {"error": "Unauthorized"})})) as server:
        error = failure(plan(server.url, start_s=60), tmp_path / "log")
    assert f"up but locked: {path} answers HTTP 401" in str(error)
    assert "campaign_engine_key_file" in str(error)
    assert error.facts["stage"] == "locked"


def test_with_its_key_it_is_ready_and_the_key_is_not_shown(tmp_path: Path) -> None:
    """Case D15: ready by an authenticated generation."""
    key = tmp_path / "key"
    key.write_text("key-SYNTHETIC-9999\n")
    with scripted(script()) as server:
        assert wait(plan(server.url, key_file=str(key)), tmp_path / "log") < 0.5
    with scripted(script(**{"/v1/models": (401, {})})) as server:
        error = failure(plan(server.url, key_file=str(key), start_s=60), tmp_path / "log")
    assert "holds another key" in str(error)
    assert "9999" not in str(error)


def test_a_first_request_that_is_refused_is_not_waited_for(tmp_path: Path) -> None:
    with scripted(script(**{"/v1/chat/completions": (400, {"error": "no chat template"})})) as server:
        error = failure(plan(server.url, start_s=60), tmp_path / "log")
    assert "refuses the first request" in str(error)
    assert "no chat template" in str(error)


def test_health_without_generation_is_not_ready(tmp_path: Path) -> None:
    """Case D6: health says 200 for ever, the generation never comes back."""

    def answer(_method: str, path: str, _body: Any) -> Any:
        if path == "/v1/chat/completions":
            time.sleep(5)
        return script()(_method, path, _body)

    with scripted(answer) as server:
        error = failure(plan(server.url), tmp_path / "log")
    assert "health answers 200, but the first generation request had no answer" in str(error)


def test_health_that_fails_during_our_own_long_request_is_no_fault(tmp_path: Path) -> None:
    """Case D6, the other way round."""
    begun = time.monotonic()

    def answer(_method: str, path: str, _body: Any) -> Any:
        if path == "/health" and 0.1 < time.monotonic() - begun < 0.6:
            return 503, {}
        if path == "/v1/chat/completions":
            time.sleep(0.6)
        return script()(_method, path, _body)

    with scripted(answer) as server:
        assert wait(plan(server.url, start_s=10), tmp_path / "log") < 3


def test_an_engine_that_dies_on_its_first_generation_was_never_ready(tmp_path: Path) -> None:
    """Case A7: health and models answer, the first chat closes the connection with the scheduler's death by signal 8."""
    (tmp_path / "log").write_text("server ready\nFatal Python error: Floating point exception\n")
    runtime, asked = Scripted(), threading.Event()

    def answer(_method: str, path: str, _body: Any) -> Any:
        if path == "/v1/chat/completions":
            asked.set()
            threading.Timer(0.05, runtime.die).start()
            time.sleep(1)
        return script()(_method, path, _body)

    with scripted(answer) as server:

        def status() -> dict[str, Any]:
            return SIGFPE if asked.is_set() else RUNNING

        error = failure(plan(server.url, start_s=60), tmp_path / "log", status=status, runtime=runtime)
    assert "exit status 136" in str(error)
    assert "on its first generation" in str(error)
    assert "out of memory" not in str(error)
    assert error.facts["log_tail"][-1] == "Fatal Python error: Floating point exception"


def test_a_stalled_load_ends_at_its_limit_with_its_last_sign_of_life(tmp_path: Path) -> None:
    """Case D4."""
    log = tmp_path / "log"
    log.write_text("loading shard 12 of 56\n")
    os.utime(log, (time.time() - 0.3, time.time() - 0.3))
    error = failure(plan(start_s=1.0), log)
    assert "not ready after 1 s (limits.start_s): no health" in str(error)
    assert "its last log line came at 0 s, 1 s before the end" in str(error)


def test_a_slow_load_that_lives_is_waited_for_and_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case D3, a thousand times as fast: progress lines, the first generation long after a common default limit would have ended it."""
    monkeypatch.setattr(load_module, "TELL_S", 0.05)
    log, begun = tmp_path / "log", time.monotonic()
    told: list[str] = []

    def answer(_method: str, path: str, _body: Any) -> Any:
        elapsed = time.monotonic() - begun
        log.write_text(f"loading shard {int(elapsed / 0.02)} of 56\n")
        return script()(_method, path, _body) if elapsed > 1.13 else (503, {})

    with scripted(answer) as server:
        waiting = Loading(plan(server.url, start_s=1.8), Scripted(), {}, lambda: RUNNING, log, told.append)
        ready_s = waiting.wait_ready()
    assert 1.1 < ready_s < 1.6
    assert len(told) > 10
    assert any("of 1.8 s, waiting for health | loading shard" in text for text in told)


def test_an_old_server_on_the_port_is_not_ours(tmp_path: Path) -> None:
    """Case D7, second form: the new engine could not bind, the old one answers."""
    (tmp_path / "log").write_text("ERROR: [Errno 98] address already in use\n")
    with scripted(script(**{"/v1/models": (200, {"data": [{"id": "old-model"}]})})) as server:
        runtime, begun = Scripted(), time.monotonic()
        threading.Timer(0.3, runtime.die).start()

        def status() -> dict[str, Any]:
            return ENDED if time.monotonic() - begun > 0.3 else RUNNING

        error = failure(plan(server.url, start_s=60), tmp_path / "log", status=status, runtime=runtime)
    assert "what answers at" in str(error)
    assert "is not this engine" in str(error)
    assert "port is already in use" in str(error)


def test_the_image_and_the_device_are_named_where_they_do_not_fit(tmp_path: Path) -> None:
    """Case D10."""
    (tmp_path / "log").write_text(
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    )
    where = "image registry.example/engine@sha256:ab12; RTX, compute capability 12.0"
    runtime = Scripted()
    threading.Timer(0.05, runtime.die).start()
    error = failure(plan(start_s=60), tmp_path / "log", status=lambda: ENDED, runtime=runtime, where=where)
    assert (
        "no kernel image for this GPU's architecture (image registry.example/engine@sha256:ab12; RTX, compute capability 12.0)"
        in str(error)
    )


def test_ready(tmp_path: Path) -> None:
    with scripted(script()) as server:
        assert wait(plan(server.url), tmp_path / "log") < 0.5


def test_the_live_configuration_is_compared(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("xllamacpp 1.2.3\n")
    argv = tuple(Path("/proc/self/cmdline").read_text().rstrip("\0").split("\0"))
    mine = vars(identity_of(os.getpid()))

    def read(server: Any, **fields: Any) -> Loaded:
        return read_back(plan(server.url, **fields), ProcessRuntime(), mine, tmp_path / "log")

    with scripted(script()) as server:
        good = read(server, argv=argv)
        bad = read(
            server,
            argv=("other",),
            environment={"NCCL_X": "1"},
            context_tokens=8192,
            snapshot="/elsewhere",
            expects={"moe_backend": "marlin"},
        )
    assert (good.version, good.deviations, good.unproven) == ("1.2.3", [], [])
    assert [text.split(":")[0] for text in bad.deviations] == [
        "argv",
        "environment NCCL_X",
        "context_tokens",
        "model path",
    ]
    assert bad.unproven == ["moe_backend: planned 'marlin', the engine does not tell"]
