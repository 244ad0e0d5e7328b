"""SIGKILL before and after every journal record of taking a host and of giving it back."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from .conftest import FaultHost
from .matrix import BY_KEEPER, Fault, injected, record_faults, records_of_giving_back, records_of_taking

TAKING = [fault for fault in record_faults("taking", records_of_taking()) if injected(fault)]
GIVING_BACK = [fault for fault in record_faults("giving back", records_of_giving_back()) if injected(fault)]
#: Longer than the driver, which sends no heartbeats, needs to come to its record: else the keeper would end it before.
LEASE_S = 4.0
LIMIT_S = 40.0


def heal(host: FaultHost, fault: Fault) -> None:
    if fault.expected == BY_KEEPER:
        host.wait_for_keeper(LEASE_S + LIMIT_S)
        return
    done = host.restore_by_hand()
    assert done.returncode == 0, done.stdout


def with_lease(host: FaultHost, fault: Fault) -> None:
    """A keeper that isn't meant to heal waits longer than the test."""
    host.declare(lease_s=LEASE_S if fault.expected == BY_KEEPER else 120.0)


@pytest.mark.parametrize("fault", TAKING, ids=[fault.id for fault in TAKING])
def test_killed_while_taking(fault_host: FaultHost, before: dict[str, Any], fault: Fault) -> None:
    with_lease(fault_host, fault)
    done = fault_host.drive("enter", kill=fault.id)
    assert done.returncode == -signal.SIGKILL, f"{done.stdout} {done.stderr}: the record never came"
    heal(fault_host, fault)
    fault_host.assert_as_before(before)


@pytest.mark.parametrize("fault", GIVING_BACK, ids=[fault.id for fault in GIVING_BACK])
def test_killed_while_giving_back(fault_host: FaultHost, before: dict[str, Any], fault: Fault) -> None:
    with_lease(fault_host, fault)
    assert fault_host.drive("enter").returncode == 0
    done = fault_host.drive("restore", kill=fault.id)
    assert done.returncode == -signal.SIGKILL, f"{done.stdout} {done.stderr}: the record never came"
    heal(fault_host, fault)
    fault_host.assert_as_before(before)
