"""The request that creates a container, and what a running one is compared with."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.container_check import (
    compare_container,
    kept_inspect,
)
from ansible_collections.tandem.campaign.plugins.module_utils._engine.container_spec import create_body
from ansible_collections.tandem.campaign.plugins.module_utils._engine.spec import launch_plan
from ansible_collections.tandem.campaign.plugins.module_utils._host.rules import Need, contract_for
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Cache, HostDeclaration, HostFacts, Role
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import ContainerStart, LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_recipes

RECIPE = read_recipes([COLLECTION_RECIPES])["laguna-s-2.1-nvfp4-tp2"].recipe
ROLES = {"compute_a": Role("GPU-a"), "compute_b": Role("GPU-b")}
HOST = HostDeclaration(ROLES, {}, {}, Cache(volume="hf", hub="hub"), "/s", "/l", 60.0, 39050)
FACTS = HostFacts(observed=False, wsl2=True, link="PXB")


def planned(host: HostDeclaration = HOST) -> tuple[LaunchPlan, ContainerStart]:
    plan = launch_plan(RECIPE, host, contract_for(Need(FACTS, RECIPE)), launchers={}, image_id="sha256:1d")
    assert plan.container is not None
    return plan, plan.container


def test_two_gpus_are_one_request_with_ids_and_no_count() -> None:
    """Cases B1 and B7: strings, nested capabilities; a count besides would be refused by Docker and means the first devices."""
    body = create_body(*planned())
    assert body["HostConfig"]["DeviceRequests"] == [
        {"Driver": "", "DeviceIDs": ["GPU-a", "GPU-b"], "Capabilities": [["gpu"]]}
    ]
    assert "Count" not in str(body)


def test_cdi_names_the_same_devices() -> None:
    body = create_body(*planned(replace(HOST, docker_gpus="cdi")))
    wanted = {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-a", "nvidia.com/gpu=GPU-b"], "Capabilities": []}
    assert body["HostConfig"]["DeviceRequests"] == [wanted]


def test_exactly_the_plan() -> None:
    plan, start = planned()
    body = create_body(plan, start)
    host = body["HostConfig"]
    assert (body["Image"], [*body["Entrypoint"], *body["Cmd"]]) == ("sha256:1d", list(plan.argv))
    assert host["PortBindings"] == {"39050/tcp": [{"HostIp": "127.0.0.1", "HostPort": "39050"}]}
    assert host["Mounts"] == [{"Type": "volume", "Source": "hf", "Target": "/hf/volume", "ReadOnly": True}]
    assert host["RestartPolicy"] == {"Name": "no"}
    assert (host["IpcMode"], "ShmSize" in host) == ("host", False)
    assert {item["Name"]: item["Hard"] for item in host["Ulimits"]} == {"memlock": -1, "stack": 67108864}
    assert (host["SecurityOpt"], host["CapDrop"], host["CapAdd"], host["Init"]) == (
        ["no-new-privileges"],
        ["ALL"],
        ["DAC_OVERRIDE"],
        True,
    )
    assert list(host["Tmpfs"]) == ["/run/tandem/hf-modules"]
    assert "HF_MODULES_CACHE=/run/tandem/hf-modules" in body["Env"]
    assert "HF_HUB_CACHE=/hf/volume/hub" in body["Env"]
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in body["Env"]
    assert plan.snapshot.startswith("/hf/volume/hub/models--poolside--Laguna")
    assert plan.argv[plan.argv.index("--host") + 1] == "0.0.0.0"


def test_on_the_host_s_network_the_engine_itself_listens_on_loopback() -> None:
    plan, start = planned(replace(HOST, docker_network="host"))
    assert plan.argv[plan.argv.index("--host") + 1] == "127.0.0.1"
    assert "PortBindings" not in create_body(plan, start)["HostConfig"]


def test_fewer_gpus_than_roles_are_refused() -> None:
    """Case B8."""
    cpu = replace(HOST, gpu_roles={"compute_a": Role("GPU-a"), "compute_b": Role(kind="cpu")})
    with pytest.raises(RefusedError, match="needs 2 GPUs, 1 of 2 roles are one"):
        planned(cpu)


def inspected(plan: LaunchPlan, start: ContainerStart) -> dict[str, Any]:
    """As the engine holds it: counts, drivers and defaults filled in, the environment in another order, the image's own beside it."""
    body = create_body(plan, start)
    host = copy.deepcopy(body["HostConfig"])
    host["DeviceRequests"][0] |= {"Count": 0, "Options": {}}
    host |= {"Ulimits": list(reversed(host["Ulimits"])), "Privileged": False, "ShmSize": 67108864}
    mounts = [
        {
            "Type": "volume",
            "Name": "hf",
            "Source": "/var/lib/docker/volumes/hf/_data",
            "Destination": "/hf/volume",
            "RW": False,
        }
    ]
    config = {"Entrypoint": body["Entrypoint"], "Cmd": body["Cmd"], "Labels": {**body["Labels"], "maintainer": "x"}}
    config["Env"] = ["PATH=/usr/bin", "HF_TOKEN=hf_SyntheticTokenAAAA1111", *reversed(body["Env"])]
    return {
        "Id": "c" * 64,
        "Image": "sha256:1d",
        "RestartCount": 0,
        "Config": config,
        "HostConfig": host,
        "Mounts": mounts,
    }


def deviations(change: Any = lambda _document: None) -> list[str]:
    plan, start = planned()
    document = inspected(plan, start)
    change(document)
    return [str(row) for row in compare_container(plan, start, document) if row.verdict != "passed"]


def test_what_the_engine_fills_in_is_no_difference() -> None:
    """Case J10."""
    assert deviations() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(RestartCount=3), "restarts: planned 0, live 3"),
        (lambda d: d["HostConfig"].update(RestartPolicy={"Name": "always"}), "restart policy: planned 'no', live 'always'"),
        (lambda d: d["HostConfig"]["DeviceRequests"][0].update(DeviceIDs=["GPU-a"]), "device requests"),
        (lambda d: d["HostConfig"]["DeviceRequests"][0].update(Count=-1), "count -1"),
        (lambda d: d["Mounts"][0].update(RW=True), "mounts"),
        (lambda d: d.update(Image="sha256:other"), "image: planned 'sha256:1d', live 'sha256:other'"),
        (lambda d: d["Config"]["Env"].remove("NCCL_P2P_DISABLE=1"), "environment NCCL_P2P_DISABLE: planned '1', live '(not set)'"),
        (lambda d: d["Config"]["Env"].append("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"), "environment PYTORCH_CUDA_ALLOC_CONF"),
        (lambda d: d["Config"]["Env"].append("NCCL_P2P_LEVEL=SYS"), "environment NCCL_P2P_LEVEL: planned '(not set)', live 'SYS'"),
        (lambda d: d["HostConfig"].update(Init=False), "init process"),
        (lambda d: d["HostConfig"].update(IpcMode="private"), "ipc: planned 'host', live 'private'"),
        (lambda d: d["HostConfig"]["PortBindings"]["39050/tcp"][0].update(HostIp="0.0.0.0"), "published ports"),
    ],
)  # fmt: skip
def test_every_difference_is_named(change: Any, says: str) -> None:
    """Case I11 among them: a managed engine that restarts is not the one that was loaded."""
    (found,) = deviations(change)
    assert says in found


def test_evidence_shows_no_secret_of_an_image() -> None:
    plan, start = planned()
    kept = kept_inspect(inspected(plan, start), plan.environment)
    assert "hf_SyntheticTokenAAAA1111" not in str(kept)
    assert "HF_TOKEN=(not shown)" in kept["Config"]["Env"]
    assert "NCCL_P2P_DISABLE=1" in kept["Config"]["Env"]
