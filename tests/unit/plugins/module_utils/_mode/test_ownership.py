"""Who holds a device, told without process lists: device requests of every form, and memory above the floor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.container import (
    LOOK_LABEL,
    PLAN_LABEL,
    container_of,
    plain_log,
)
from ansible_collections.tandem.campaign.plugins.module_utils._mode.devices import Devices
from ansible_collections.tandem.campaign.plugins.module_utils._mode.ownership import devices_of, foreign_owners
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Cache,
    Gpu,
    HostDeclaration,
    Role,
    Service,
)
from ansible_collections.tandem.campaign.tests.fakes.nvidia import UUIDS

GPUS = tuple(
    Gpu(number, "RTX PRO 6000", uuid, f"0{number}:00.0", "591.86", 97887, 400, 600.0, "12.0")
    for number, uuid in enumerate(UUIDS)
)
HOST = HostDeclaration(
    {"compute_a": Role(uuid=UUIDS[0]), "compute_b": Role(uuid=UUIDS[1])}, {"omni": Service("container", name="omni-1")}, {}, Cache(path="/c"),
    "/s", "/l", 60.0, 1, docker_socket="/nonexistent", gpu_release_s=0.0,
)  # fmt: skip


def container(host_config: dict[str, Any], environment: tuple[str, ...] = (), name: str = "notebook") -> Any:
    """As inspect shows a running one."""
    return container_of(
        {
            "Id": "1",
            "Name": f"/{name}",
            "Image": "sha256:1",
            "State": {"Status": "running", "ExitCode": 0},
            "Config": {"Env": list(environment)},
            "HostConfig": host_config,
        }
    )


def request(count: int = 0, *ids: str, driver: str = "") -> dict[str, Any]:
    return {"DeviceRequests": [{"Driver": driver, "Count": count, "DeviceIDs": list(ids), "Capabilities": [["gpu"]]}]}


@pytest.mark.parametrize(
    ("host_config", "environment", "held"),
    [
        (request(0, UUIDS[1]), (), {1}),
        (request(0, UUIDS[1][:12]), (), {1}),
        (request(0, "1"), (), {1}),
        (request(0, "0", "1"), (), {0, 1}),
        (request(-1), (), {0, 1}),
        (request(1), (), {0}),
        (request(0, "nvidia.com/gpu=1", driver="cdi"), (), {1}),
        (request(0, "nvidia.com/gpu=all", driver="cdi"), (), {0, 1}),
        ({"Runtime": "nvidia"}, ("NVIDIA_VISIBLE_DEVICES=1",), {1}),
        ({"Runtime": "nvidia"}, ("NVIDIA_VISIBLE_DEVICES=all",), {0, 1}),
        ({"Runtime": "nvidia"}, ("NVIDIA_VISIBLE_DEVICES=void",), set()),
        ({"Runtime": "runc"}, ("NVIDIA_VISIBLE_DEVICES=all",), set()),
        ({"DeviceRequests": None}, (), set()),
    ],
)
def test_devices_by_every_form_of_request(
    host_config: dict[str, Any], environment: tuple[str, ...], held: set[int]
) -> None:
    assert devices_of(container(host_config, environment), GPUS) == {UUIDS[number] for number in held}


def test_a_declared_service_is_no_foreign_owner() -> None:
    assert foreign_owners(HOST, [container(request(-1), name="omni-1")], GPUS) == []
    (found,) = foreign_owners(HOST, [container(request(0, "1"))], GPUS)
    assert found.startswith("container notebook holds compute_b and is not in campaign_services")


def smi(*used_mib: str) -> Any:
    rows = [f"{number}, x, {UUIDS[number]}, 0, 1, 97887, {used}, 600, 12.0" for number, used in enumerate(used_mib)]
    return lambda _arguments: (0, "\n".join(rows), "")


def test_memory_below_the_floor_is_free() -> None:
    Devices(HOST, smi("400", "2500")).wait_free()


def test_memory_above_it_is_not() -> None:
    """Case I3: the figures, the threshold, and that no process list would tell."""
    with pytest.raises(
        CampaignError, match=r"compute_b 71000 MiB used, the threshold is 2500 MiB.*process list"
    ) as fault:
        Devices(HOST, smi("400", "71000")).wait_free()
    assert fault.value.facts["used_mib"] == {"compute_b": 71000}


def test_what_the_driver_does_not_tell_is_not_above_the_floor() -> None:
    Devices(HOST, smi("[N/A]", "[N/A]")).wait_free()


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(RefusedError, match=f"role compute_b: no device {UUIDS[1]} on this host"):
        Devices(HOST, smi("400")).check()


def test_a_log_without_its_frames() -> None:
    frames = b"\1\0\0\0\0\0\0\3out\2\0\0\0\0\0\0\4err\n"
    assert (plain_log(frames), plain_log(b"a terminal's\n"), plain_log(b"")) == ("outerr\n", "a terminal's\n", "")


def test_our_own_probe_is_no_intruder_and_an_old_engine_is() -> None:
    ours, old = (container(request(0, UUIDS[0]), name=name) for name in ("probe", "tandem-old"))
    ours, old = replace(ours, labels={PLAN_LABEL: "1", LOOK_LABEL: "1"}), replace(old, labels={PLAN_LABEL: "1"})
    (text,) = foreign_owners(HOST, [ours, old], GPUS)
    assert "tandem-old holds compute_a and is an engine that an earlier campaign has left" in text
