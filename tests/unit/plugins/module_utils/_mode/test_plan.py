"""Which steps entering takes, and in which order."""

from __future__ import annotations

from typing import Literal

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.plan import Step, exclusive_steps, undo_waves
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Admission,
    Cache,
    Health,
    HostDeclaration,
    Mode,
    Role,
    Service,
)

URL = "http://127.0.0.1:8002"


def service(
    *needs: str,
    health: Health | None = None,
    admission: Admission | None = None,
    in_exclusive: Literal["stopped", "drained"] | None = None,
) -> Service:
    return Service(
        "process", argv=("/bin/x",), needs=needs, health=health, admission=admission, in_exclusive=in_exclusive
    )


def host(**services: Service) -> HostDeclaration:
    return HostDeclaration(
        {"a": Role(kind="cpu")}, services, {"exclusive": Mode()}, Cache(path="/c"), "/s", "/l", 60.0, 1
    )


ROUTER = service(admission=Admission("sglang", "http://127.0.0.1:8000"))
SEED = host(primary=service(), omni=service(health=Health(url=f"{URL}/health")), voice=service("omni"), router=ROUTER)
ALL = dict.fromkeys(("primary", "omni", "voice", "router"), True)
URLS = {"primary": None, "omni": URL, "voice": None, "router": None}


def names(steps: tuple[Step, ...]) -> list[tuple[int, str]]:
    return [(step.wave, step.name) for step in steps]


def test_admission_first_dependents_next_independent_ones_at_once() -> None:
    steps = exclusive_steps(SEED, ALL, {"router": frozenset({URL})}, URLS)
    assert names(steps) == [(0, "drain:router:omni"), (1, "stop:primary"), (1, "stop:voice"), (2, "stop:omni")]
    assert [[step.name for step in wave] for wave in undo_waves(list(steps))] == [
        ["stop:omni"],
        ["stop:primary", "stop:voice"],
        ["drain:router:omni"],
    ]


def test_what_does_not_run_gets_no_step() -> None:
    """The seeds' own scenario: omni alone runs, the router exited before the campaign."""
    running = {"primary": False, "omni": True, "voice": False, "router": False}
    assert names(exclusive_steps(SEED, running, {}, URLS)) == [(1, "stop:omni")]


def test_a_worker_that_is_not_admitted_is_not_drained() -> None:
    steps = exclusive_steps(SEED, ALL, {"router": frozenset({"http://127.0.0.1:9"})}, URLS)
    assert all(step.kind == "stop" for step in steps)


def test_a_router_may_be_stopped_instead() -> None:
    stopped = host(router=service(admission=Admission("sglang", "http://127.0.0.1:8000"), in_exclusive="stopped"))
    assert names(exclusive_steps(stopped, {"router": True}, {"router": frozenset()}, {"router": None})) == [
        (1, "stop:router")
    ]


def test_a_circle_is_refused() -> None:
    with pytest.raises(RefusedError, match="need each other in a circle"):
        exclusive_steps(host(a=service("b"), b=service("a")), {"a": True, "b": True}, {}, {})


def test_every_step_names_its_undo() -> None:
    steps = exclusive_steps(SEED, ALL, {"router": frozenset({URL})}, URLS)
    assert steps[0].describe() == "close admission of omni at router (undo: readmit omni)"
    assert steps[-1].describe() == "stop omni (undo: start omni)"
