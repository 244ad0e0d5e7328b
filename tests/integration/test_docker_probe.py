"""The probe of the transport in a real container: the plan's own image, devices and shared memory, with a PyTorch of the tests' own in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._probe import ranks
from ansible_collections.tandem.campaign.plugins.module_utils._probe.run import probe
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, EngineError
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import ContainerStart, LaunchPlan, Mount
from ansible_collections.tandem.campaign.plugins.plugin_utils.signatures import own_signatures
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import SCRIPTED, Daemon
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.nvidia import UUIDS

STUB = Path(__file__).resolve().parents[1] / "fakes" / "torch_stub"


def plan_of(daemon: Daemon, faults: dict[str, str], shm_gib: float = 1.0) -> LaunchPlan:
    start = ContainerStart(
        daemon.socket, "tandem-probe", "tandem-test/scripted@sha256:0", "host", (Mount(str(STUB), "/opt/stub", read_only=True),), {}, "",
        UUIDS, "private", shm_gib, {}, {}, image_id=daemon.cli("inspect", "--format", "{{.Id}}", SCRIPTED),
    )  # fmt: skip
    environment = {
        "PYTHONPATH": "/opt/stub", "PYTHONDONTWRITEBYTECODE": "1", "PROBE_UUIDS": ",".join(UUIDS), "PROBE_FAULT": json.dumps(faults),
        "NCCL_DEBUG": "INFO", "NCCL_P2P_DISABLE": "1",
    }  # fmt: skip
    roles = {"compute_a": UUIDS[0], "compute_b": UUIDS[1]}
    return LaunchPlan(
        "tiny", "vllm", "docker", ("vllm", "serve"), environment, "tiny", "/hf", "127.0.0.1", 39050, 10.0, 1.0, 64, 1, roles, start
    )  # fmt: skip


def test_passes_and_leaves_nothing(engines: Daemon, tmp_path: Path) -> None:
    told: list[str] = []
    result = probe(
        plan_of(engines, {}), Path(ranks.__file__), tmp_path, identity(), told.append, own_signatures(), 30.0
    )
    assert (result["verdict"], result["reason"]) == ("passed", "every rank pair goes via SHM")
    kept = json.loads((tmp_path / "nccl.json").read_text())
    assert [rank["facts"]["shm_gib"] for rank in kept["ranks"]] == [1.0, 1.0]
    assert engines.cli("ps", "--all", "--quiet") == ""
    assert "NCCL probe passed" in told[-1]


@pytest.mark.parametrize(
    ("faults", "shm_gib", "says"),
    [
        ({"1": "hang"}, 1.0, "rank 0 hangs at the first collective; rank 1 hangs at the first collective"),
        ({"0": "p2p", "1": "p2p"}, 1.0, "2 channels go via P2P"),
        ({}, 0.25, "/dev/shm where the ranks run has 0.25 GiB, 1 GiB or more is needed"),
    ],
)
def test_fails_in_bounded_time(
    engines: Daemon, tmp_path: Path, faults: dict[str, str], shm_gib: float, says: str
) -> None:
    with pytest.raises(EngineError, match=says):
        probe(
            plan_of(engines, faults, shm_gib),
            Path(ranks.__file__),
            tmp_path,
            identity(),
            lambda _text: None,
            own_signatures(),
            4.0,
        )
    assert json.loads((tmp_path / "nccl.json").read_text())["verdict"] == "failed"
    assert engines.cli("ps", "--all", "--quiet") == ""


def test_an_image_that_is_gone(engines: Daemon, tmp_path: Path) -> None:
    plan = plan_of(engines, {})
    assert plan.container is not None
    gone = replace(plan, container=replace(plan.container, image_id="sha256:" + "0" * 64))
    with pytest.raises(CampaignError, match="No such image"):
        probe(gone, Path(ranks.__file__), tmp_path, identity(), lambda _text: None, own_signatures(), 4.0)
