"""Every fault that is injected, generated from the plan of one host: before and after each journal record, at each stage, and by name.

``docs/reliability.md`` holds this list; a test keeps the two the same. ``make test`` injects the chosen ones, ``make test-faults`` all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.plan import Step, exclusive_steps
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Admission,
    Cache,
    Health,
    HostDeclaration,
    Mode,
    Role,
    Service,
)

RESTORED = "prior state restored by one restore, difference empty"
BY_KEEPER = "prior state restored by the keeper alone, difference empty"
REFUSED = "refused, nothing changed"


@dataclass(frozen=True)
class Fault:
    """``when`` it happens, ``what`` happens, what is ``expected`` then, and whether ``make test`` injects it."""

    id: str
    when: str
    what: str
    expected: str
    chosen: bool = False


def host(ports: dict[str, int], router_argv: tuple[str, ...] = ("/bin/router",)) -> HostDeclaration:
    """primary, omni, voice (which needs omni) and a router that admits the first two; ports by name."""
    services = {
        name: Service(
            "process",
            argv=("/bin/engine", str(ports[name]), name),
            needs=("omni",) if name == "voice" else (),
            stop_s=5.0,
            health=Health(url=f"http://127.0.0.1:{ports[name]}/", start_s=20),
        )
        for name in ("primary", "omni", "voice")
    }
    url = f"http://127.0.0.1:{ports['router']}"
    router = Service(
        "process", argv=router_argv, health=Health(url=f"{url}/liveness", start_s=30), admission=Admission("sglang", url, drain_s=5.0), stop_s=5.0
    )  # fmt: skip
    return HostDeclaration(
        {"a": Role(kind="cpu")},
        {**services, "router": router},
        {"exclusive": Mode()},
        Cache(path="/c"),
        "/s",
        "/l",
        60.0,
        1,
    )


def plan() -> tuple[Step, ...]:
    """The steps of taking that host, all of it running."""
    ports = {"primary": 1, "omni": 2, "voice": 3, "router": 4}
    urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    return exclusive_steps(host(ports), set(ports), {"router": frozenset((urls["primary"], urls["omni"]))}, urls)


def records_of_taking() -> list[str]:
    """``kind step`` of each record that taking the host writes."""
    found = ["note enter"]
    for step in plan():
        found += [
            f"intent {step.name}",
            *([f"note closed:{step.name}"] if step.kind == "drain" else []),
            f"result {step.name}",
        ]
    return [*found, "note committed"]


def records_of_giving_back() -> list[str]:
    """``kind step`` of each record that giving it back writes."""
    undone = [
        record for step in reversed(plan()) for record in (f"intent undo:{step.name}", f"result undo:{step.name}")
    ]
    return [*undone, "note restored"]


#: Some healed by the keeper alone, the others by one restore by hand, in turn.
CHOSEN_RECORDS = {
    "after intent stop:omni",
    "after note committed",
    "before result undo:stop:omni",
    "after intent undo:drain:router:omni",
}


def record_faults(when: str, records: list[str]) -> Iterator[Fault]:
    for number, (record, side) in enumerate((record, side) for record in records for side in ("before", "after")):
        expected = BY_KEEPER if number % 3 == 0 else RESTORED
        name = f"{side} {record}"
        yield Fault(name, when, "SIGKILL of the process that changes the host", expected, name in CHOSEN_RECORDS)


STAGES = ("snapshot", "taking", "load", "functional", "capacity", "unload", "restore")
SIGNALS = ("SIGINT", "SIGTERM", "SIGKILL")
#: One signal a stage, so that each signal is sent at two stages or more.
CHOSEN_SIGNALS = dict(
    zip(STAGES, ("SIGTERM", "SIGKILL", "SIGTERM", "SIGINT", "SIGKILL", "SIGINT", "SIGTERM"), strict=True)
)


def stage_faults() -> Iterator[Fault]:
    for stage in STAGES:
        for signal in SIGNALS:
            what = f"{signal} to ansible-playbook and its children"
            yield Fault(f"{stage}-{signal}", f"campaign, {stage}", what, BY_KEEPER, CHOSEN_SIGNALS[stage] == signal)


NAMED = (
    Fault("keeper-killed", "exclusive", "SIGKILL of the keeper", RESTORED, True),
    Fault("keeper-killed-with-engine", "lane", "SIGKILL of the keeper while its engine runs", f"engine unloaded, {RESTORED}"),
    Fault("engine-hangs", "lane", "an engine that ignores SIGTERM", f"killed after its limit, {RESTORED}"),
    Fault("docker-restarted", "exclusive", "the Docker Engine restarts; a service's policy was always", f"nobody comes back, {RESTORED}", True),
    Fault("docker-stop-swallowed", "taking", "a proxy swallows the stop call", f"stopped by force after the bound, {RESTORED}", True),
    Fault("docker-stop-without-answer", "taking", "the stop happens, its call never returns", f"seen by a look, {RESTORED}"),
    Fault("docker-hangs", "taking", "the engine answers nothing", REFUSED),
    Fault("docker-image-vanished", "exclusive", "the stopped container's image is removed", RESTORED),
    Fault("docker-container-removed", "exclusive", "the stopped container is removed", "the rest restored; says to create it again, then restored"),
    Fault("docker-port-taken", "giving back", "another server has the container's port", "the rest restored, the service named; then restored"),
    Fault("service-ends-after-start", "giving back", "a container ends three seconds after its start", "not restored, with its last output; then restored"),
    Fault("start-fails", "giving back", "a service's program ends with 9", "the rest restored, the service named; then restored"),
    Fault("port-taken", "giving back", "another server answers at the service's address", "not taken for the service; then restored"),
    Fault("router-dead", "taking", "the router is killed after the look", f"fails closed, {RESTORED}"),
    Fault("router-slow", "taking", "the router is stopped (SIGSTOP)", REFUSED),
    Fault("router-refuses-key", "taking", "another control-plane key", REFUSED),
    Fault("router-dead-at-restore", "giving back", "the router is killed in exclusive mode", "the rest restored, the router named; then restored"),
    Fault("disk-full-at-journal", "taking", "no space at the second record", f"what was begun is undone without records; once there is space {RESTORED}", True),
    Fault("disk-full-at-evidence", "taking", "no space for the state before", "nothing stopped, given back"),
    Fault("two-campaigns", "taking", "four campaigns at once", "one has the host, the others are refused with its name"),
    Fault("reboot", "exclusive", "all processes gone, new boot id", RESTORED),
    Fault("reservation-edited", "exclusive", "reservation.json changed by hand", REFUSED + "; by --trust-edited restored"),
    Fault("journal-torn", "exclusive", "half a last line in the journal", RESTORED),
    Fault("journal-damaged", "exclusive", "an earlier line of the journal changed", REFUSED + ", with the way out"),
    Fault("lock-removed", "exclusive", "the lock's file is deleted by hand", "a second campaign is refused all the same, " + RESTORED),
)  # fmt: skip


def all_faults() -> list[Fault]:
    return [
        *record_faults("taking", records_of_taking()),
        *record_faults("giving back", records_of_giving_back()),
        *stage_faults(),
        *NAMED,
    ]


BY_ID = {fault.id: fault for fault in all_faults()}


def injected(fault: Fault) -> bool:
    """Whether this run injects it: all of them with TANDEM_FAULTS=all."""
    return fault.chosen or os.environ.get("TANDEM_FAULTS") == "all"


def fault(name: str) -> pytest.MarkDecorator:
    """Marks a test that injects a named fault; one that is not chosen only runs in ``make test-faults``."""
    return pytest.mark.skipif(not injected(BY_ID[name]), reason="make test-faults injects it")


def table() -> str:
    """The list as Markdown."""
    lines = ["| when | fault | what is injected | expected | in `make test` |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {item.when} | {item.id} | {item.what} | {item.expected} | {'yes' if item.chosen else ''} |"
        for item in all_faults()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
