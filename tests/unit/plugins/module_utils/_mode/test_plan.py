"""Which steps entering takes, and in which order."""

from __future__ import annotations

from typing import Literal

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.plan import Step, exclusive_steps, undo_order
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
ALL = {"primary", "omni", "voice", "router"}
URLS = {"primary": None, "omni": URL, "voice": None, "router": None}
ADMITTED = {"router": frozenset({URL})}


def after(steps: tuple[Step, ...]) -> dict[str, tuple[str, ...]]:
    return {step.name: step.after for step in steps}


def test_admission_first_dependents_before_what_they_need_independent_ones_at_once() -> None:
    steps = exclusive_steps(SEED, ALL, ADMITTED, URLS)
    assert after(steps) == {
        "drain:router:omni": (),
        "stop:primary": (),
        "stop:voice": (),
        "stop:omni": ("drain:router:omni", "stop:voice"),
    }
    assert undo_order(steps) == {
        "drain:router:omni": ("stop:omni",),
        "stop:primary": (),
        "stop:voice": ("stop:omni",),
        "stop:omni": (),
    }


def test_what_does_not_run_gets_no_step() -> None:
    """The seeds' own scenario: omni alone runs, the router exited before the campaign."""
    assert after(exclusive_steps(SEED, {"omni"}, {}, URLS)) == {"stop:omni": ()}


def test_a_worker_that_is_not_admitted_is_not_drained() -> None:
    steps = exclusive_steps(SEED, ALL, {"router": frozenset({"http://127.0.0.1:9"})}, URLS)
    assert all(step.kind == "stop" for step in steps)


def test_a_router_that_is_stopped_gets_all_its_workers_back() -> None:
    """It forgets at its stop whom it was told to admit, workers of other hosts too."""
    router = service(admission=Admission("sglang", "http://127.0.0.1:8000"), in_exclusive="stopped")
    other = "http://127.0.0.1:9"
    steps = exclusive_steps(
        host(router=router, omni=SEED.services["omni"]), {"router", "omni"}, {"router": frozenset({URL, other})}, URLS
    )
    drains = (f"drain:router:{URL}".replace(URL, "omni"), f"drain:router:{other}")
    assert after(steps) == {
        drains[0]: (),
        drains[1]: (),
        "stop:router": drains,
        "stop:omni": (drains[0],),
    }
    assert set(undo_order(steps)[drains[0]]) == {"stop:router", "stop:omni"}


def test_the_undo_keeps_what_was_there_before() -> None:
    steps = exclusive_steps(SEED, {"omni"}, {}, URLS, {"omni": {"restart_policy": {"Name": "always"}}})
    assert steps[0].prior == {"restart_policy": {"Name": "always"}}


def test_a_circle_is_refused() -> None:
    with pytest.raises(RefusedError, match="need each other in a circle"):
        exclusive_steps(host(a=service("b"), b=service("a")), {"a", "b"}, {}, {})


def test_every_step_names_its_undo() -> None:
    steps = exclusive_steps(SEED, ALL, ADMITTED, URLS)
    assert steps[0].describe() == "close admission of omni at router (undo: readmit omni)"
    assert steps[-1].describe() == "stop omni (undo: start omni)"
