# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading: start, watch, prove readiness, read the live configuration back and compare it with the plan."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._api import requests
from .._api.client import Client
from .._api.replies import read_reply
from .._host.procfs import command_line, environment_value
from .._words.errors import EngineError
from .._words.events import Reply
from .._words.plan import LaunchPlan
from .._words.recipe import Reasoning
from .._words.text import plain, plain_lines
from .adapters import LiveFacts, adapter_for, get_document

POLL_S = 0.1
TELL_S = 2.0
LOG_TAIL = 25
LOG_READ = 256 * 1024

#: The keeper's answer about the engine: ``{running, exit_text, process, …}`` or None where none was started.
Status = Callable[[], "dict[str, Any] | None"]


@dataclass(frozen=True)
class Loaded:
    """An engine that is ready, and what it says of itself."""

    ready_s: float
    live: dict[str, Any]
    models: dict[str, Any]
    version: str | None
    deviations: tuple[str, ...]


def wait_ready(plan: LaunchPlan, status: Status, log: Path, tell: Callable[[str], None]) -> float:
    """Seconds until health answers, the served name is listed and one real completion came back.

    Raises :class:`EngineError` at once when the engine ended, and after ``plan.start_s`` when it isn't ready; both with the last log lines.
    """
    client = Client(plan.base_url, connect_s=1.0)
    start = time.monotonic()
    told = 0.0
    missing = "health"
    while True:
        elapsed = time.monotonic() - start
        engine = status()
        if engine is None or not engine["running"]:
            ending = engine["exit_text"] if engine else "was never started"
            raise _failure(plan, f"the engine {ending} after {elapsed:.1f} s, before it was ready", log, stage="exited")
        if elapsed > plan.start_s:
            raise _failure(
                plan,
                f"the engine is not ready after {plan.start_s:g} s (limits.start_s): no {missing}",
                log,
                stage="timeout",
            )
        missing = _missing(plan, client)
        if missing == "":
            return time.monotonic() - start
        if elapsed - told >= TELL_S:
            told = elapsed
            last = plain_lines(read_tail(log), 1, 120)
            tell(
                f"loading {elapsed:.0f} s of {plan.start_s:g} s, waiting for {missing}"
                + (f" | {last[-1]}" if last else "")
            )
        time.sleep(POLL_S)


def _missing(plan: LaunchPlan, client: Client) -> str:
    """The first proof of readiness that doesn't hold yet; empty where all do."""
    health = client.get("/health", timeout_s=25.0)
    if health.status == 401:
        raise EngineError(
            f"{plan.base_url}/health asks for a key (HTTP 401): the engine is up but locked; a recipe has no key",
            stage="locked",
        )
    if health.status != 200:
        return "health"
    names = [
        str(item.get("id")) for item in get_document(client, "/v1/models").get("data") or [] if isinstance(item, dict)
    ]
    if plan.served_name not in names:
        return f"model {plan.served_name!r} in /v1/models"
    reply = one_completion(plan, client)
    return "" if reply.completion_tokens or reply.content or reply.reasoning else "a real completion"


def one_completion(plan: LaunchPlan, client: Client) -> Reply:
    """The smallest request that makes the engine compute."""
    messages = [{"role": "user", "content": "Say ok."}]
    body = requests.chat(plan.served_name, messages, max_tokens=4, stream=False, reasoning=Reasoning())
    return read_reply(client.post("/v1/chat/completions", requests.encode(body), timeout_s=120.0), streamed=False)


def read_back(plan: LaunchPlan, process: dict[str, Any], log: Path, ready_s: float) -> Loaded:
    """The live configuration beside the plan. What deviates is listed; what the engine does not tell is null."""
    client = Client(plan.base_url)
    pid = int(process["pid"])
    facts = adapter_for(plan.engine).live_facts(client, read_head(log))
    argv = command_line(pid)
    environment = {name: environment_value(pid, name) for name in plan.environment}
    models = get_document(client, "/v1/models")
    live = {
        "argv": list(argv),
        "environment": environment,
        "process": process,
        "engine": vars(facts),
        "served_names": [str(item.get("id")) for item in models.get("data") or []],
    }
    return Loaded(ready_s, live, models, facts.version, tuple(_deviations(plan, argv, environment, facts)))


def _deviations(
    plan: LaunchPlan, argv: tuple[str, ...], environment: dict[str, str | None], facts: LiveFacts
) -> list[str]:
    pairs: list[tuple[str, Any, Any]] = [("argv", list(plan.argv), list(argv))]
    pairs += [(f"environment {name}", value, environment[name]) for name, value in plan.environment.items()]
    # An engine may round its context up to its own block; less than planned is a deviation.
    if facts.context_tokens is not None and facts.context_tokens < plan.context_tokens:
        pairs.append(("context_tokens", plan.context_tokens, facts.context_tokens))
    pairs.append(("max_requests", plan.max_requests, facts.max_requests))
    pairs.append(("speculative", plan.speculative, facts.speculative))
    if facts.model_path is not None and not facts.model_path.startswith(plan.snapshot):
        pairs.append(("model path", f"inside {plan.snapshot}", facts.model_path))
    return [plain(f"{name}: planned {wanted!r}, live {found!r}") for name, wanted, found in pairs if wanted != found]


def read_tail(log: Path) -> str:
    """The end of a log, bounded."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - LOG_READ))
            return stream.read(LOG_READ).decode("utf-8", "replace")
    except OSError:
        return ""


def read_head(log: Path) -> str:
    """The beginning of a log, bounded."""
    try:
        with log.open("rb") as stream:
            return stream.read(LOG_READ).decode("utf-8", "replace")
    except OSError:
        return ""


def _failure(plan: LaunchPlan, text: str, log: Path, *, stage: str) -> EngineError:
    tail = plain_lines(read_tail(log), LOG_TAIL)
    shown = "\n  ".join(tail[-8:]) or "(the log is empty)"
    return EngineError(
        f"{plan.recipe}: {text}. Last log lines:\n  {shown}", recipe=plan.recipe, stage=stage, log_tail=tail
    )
