"""Real ranks, real sums, a PyTorch of the tests' own; and what the verdict makes of every way they can end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._probe import ranks, run
from ansible_collections.tandem.campaign.plugins.module_utils._probe.run import probe, probe_body
from ansible_collections.tandem.campaign.plugins.module_utils._probe.verdict import judge_probe
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EngineError
from ansible_collections.tandem.campaign.plugins.module_utils._words.plan import ContainerStart, LaunchPlan
from ansible_collections.tandem.campaign.plugins.plugin_utils.signatures import own_signatures
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

STUB = Path(__file__).resolve().parents[4] / "fakes" / "torch_stub"
UUIDS = tuple(f"GPU-00000000-0000-4000-8000-00000000000{number}" for number in range(4))
IDENTITY = identity()


def plan_of(count: int = 2, faults: dict[int, str] | None = None, **contract: str) -> LaunchPlan:
    environment = {
        "PYTHONPATH": str(STUB), "PROBE_UUIDS": ",".join(UUIDS), "PROBE_FAULT": json.dumps({str(rank): text for rank, text in (faults or {}).items()}),
        "NCCL_DEBUG": "INFO", "PROBE_SHM_GIB": "1", **contract,
    }  # fmt: skip
    roles = {f"compute_{number}": UUIDS[number] for number in range(count)}
    return LaunchPlan(
        "tiny", "vllm", "process", (sys.executable, "-m", "vllm"), environment, "tiny", "/hf", "127.0.0.1", 1, 10.0, 1.0, 64, 1, roles
    )  # fmt: skip


def probed(plan: LaunchPlan, folder: Path, limit_s: float = 20.0) -> dict[str, object]:
    return probe(plan, Path(ranks.__file__), folder, IDENTITY, lambda _text: None, own_signatures(), limit_s)


def refusal(plan: LaunchPlan, folder: Path, limit_s: float = 20.0) -> str:
    with pytest.raises(EngineError) as caught:
        probed(plan, folder, limit_s)
    kept = json.loads((folder / "nccl.json").read_text())
    assert kept["reason"] in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_any_number_of_gpus(tmp_path: Path, count: int) -> None:
    result = probed(plan_of(count, NCCL_P2P_DISABLE="1"), tmp_path)
    assert (result["verdict"], result["reason"]) == ("passed", "every rank pair goes via SHM")
    kept = json.loads((tmp_path / "nccl.json").read_text())
    assert [(rank["rank"], rank["stage"], rank["ended"], rank["facts"]["uuid"]) for rank in kept["ranks"]] == [
        (number, "measured", 0, UUIDS[number]) for number in range(count)
    ]
    assert kept["bus_gb_s"] > 0
    assert kept["transport"]["verdict"] == "honoured"
    assert "Channel 00" in (tmp_path / "nccl.log").read_text()


@pytest.mark.parametrize("size", ["0.0625", "0"])
def test_too_little_shared_memory_fails_it_even_where_it_went_well(tmp_path: Path, size: str) -> None:
    text = refusal(plan_of(NCCL_P2P_DISABLE="1", PROBE_SHM_GIB=size), tmp_path)
    assert f"/dev/shm where the ranks run has {size} GiB" in text
    assert "limits.shm_gib" in text


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({1: "wrong"}, "the collective computed wrong sums: 4096 of 4096 elements at rank 1"),
        ({0: "no-device"}, "rank 0 failed after started: RuntimeError: CUDA error: invalid device ordinal"),
        ({1: "sigfpe"}, "rank 1 ended with -8 after started"),
        ({1: "die"}, "rank 1 ended with 9 after joined"),
        ({0: "p2p", 1: "p2p"}, "2 channels go via P2P, which the contract turns off"),
        ({0: "sockets", 1: "sockets"}, "degraded: 2 channels of ranks on one host go via NET"),
        ({1: "silent"}, "no channel of rank 1 is in the log"),
        ({0: "silent", 1: "silent"}, "the log has no line"),
    ],
)
def test_what_fails_it(tmp_path: Path, faults: dict[int, str], says: str) -> None:
    assert says in refusal(plan_of(2, faults, NCCL_P2P_DISABLE="1"), tmp_path, 4.0)


def test_a_hang_is_a_verdict_with_the_state_of_every_rank(tmp_path: Path) -> None:
    """Case A3: all ranks have joined, the first collective never ends."""
    begun = time.monotonic()
    text = refusal(plan_of(2, {1: "hang"}), tmp_path, 3.0)
    assert time.monotonic() - begun < 15
    assert "rank 0 hangs at the first collective; rank 1 hangs at the first collective" in text
    alive = subprocess.run(["pgrep", "-f", f"{ranks.__file__}.*{tmp_path.name}"], capture_output=True, check=False)
    assert alive.stdout == b""


def test_devices_are_compared_as_a_set(tmp_path: Path) -> None:
    """The numbers inside follow the bus, the roles the owner's wishes."""
    plan = plan_of()
    assert probed(replace(plan, roles={"a": UUIDS[1], "b": UUIDS[0]}), tmp_path)["verdict"] == "passed"
    text = refusal(replace(plan, roles={"a": UUIDS[0], "b": UUIDS[3]}), tmp_path)
    assert f"the ranks see the devices {UUIDS[0]}, {UUIDS[1]}, the roles are {UUIDS[0]}, {UUIDS[3]}" in text


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="/no/python can't be started"):
        probed(replace(plan_of(), argv=("/no/python",)), tmp_path)


def test_an_environment_without_pytorch(tmp_path: Path) -> None:
    plan = plan_of()
    plan.environment["PYTHONPATH"] = ""
    assert "ModuleNotFoundError: No module named 'torch'" in refusal(plan, tmp_path)


def test_nothing_at_all_was_said() -> None:
    result = judge_probe("", plan_of())
    assert (result.verdict, result.bus_gb_s) == ("failed", None)
    assert "rank 0 ended with None after its start" in result.reason


@pytest.mark.parametrize("line", ["{", "[]", '{"rank": 7}', '{"rank": "0"}', '{"stage": "measured"}'])
def test_lines_that_are_none(line: str) -> None:
    assert judge_probe(f"{ranks.MARK}{line}\n", plan_of()).verdict == "failed"


def test_the_container_is_the_engine_s_own_without_its_port() -> None:
    start = ContainerStart(
        "/s", "n", "i@sha256:1", "bridge", (), {}, "", UUIDS[:2], "private", 2.0, {"memlock": -1}, {"a": "b"}, image_id="sha256:2"
    )  # fmt: skip
    body = probe_body(replace(plan_of(), runtime="docker", container=start), start, '{"ranks": 2}')
    assert (body["Image"], body["Entrypoint"], body["Cmd"]) == (
        "sha256:2",
        ["python3", "-u"],
        [f"/{run.PROGRAM}", '{"ranks": 2}'],
    )
    host = body["HostConfig"]
    assert (host["DeviceRequests"][0]["DeviceIDs"], host["ShmSize"], host["IpcMode"]) == (
        list(UUIDS[:2]),
        2 * 2**30,
        "private",
    )
    assert "PortBindings" not in host


def recorded(name: str) -> str:
    """What this probe's ranks and NCCL 2.28.9 wrote on a machine with one H200 (torch 2.11.0, 2026-12-04; names and addresses replaced)."""
    return (Path(__file__).resolve().parents[4] / "fixtures" / "probe" / f"one-gpu-{name}.log").read_text()


def test_real_ranks_on_one_device_are_refused_by_nccl_and_the_cause_is_named() -> None:
    result = judge_probe(recorded("duplicate"), plan_of(), own_signatures())
    assert result.verdict == "failed"
    assert "NCCL refused two ranks on one device" in result.reason
    assert "give every role a GPU of its own" in result.reason
    assert [rank.stage for rank in result.ranks] == ["joined", "joined"]


def test_real_ranks_that_share_a_device_and_talk_by_sockets_pass_nothing() -> None:
    """Taken for two hosts by NCCL (NCCL_HOSTID), so that both ranks could run: right sums, wrong devices, a transport that no host of ours may use."""
    log = recorded("split-contract")
    result = judge_probe(log, plan_of(NCCL_P2P_DISABLE="1"), own_signatures())
    assert result.verdict == "failed"
    assert "the ranks see the devices GPU-00000000-0000-4000-8000-000000000000, GPU-0" in result.reason
    assert result.transport.verdict == "violated"
    assert "go via NET (sockets), shared memory is not used" in result.transport.reasons[0]
    assert result.bus_gb_s == pytest.approx(1.8316, abs=1e-4)
    same = plan_of(NCCL_P2P_DISABLE="1")
    shared = replace(same, roles=dict.fromkeys(same.roles, "GPU-00000000-0000-4000-8000-000000000000"))
    assert judge_probe(log, shared, own_signatures()).reason == result.transport.reasons[0]
