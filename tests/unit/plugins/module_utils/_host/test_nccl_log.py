"""The judge against what real NCCL wrote, and against every way a log can be incomplete.

Logs: two H200s with NVLink, NCCL 2.28.9, torch 2.11 (nccl/*.log: an all-reduce; vllm-*: vLLM 0.25.1 with TP=2), 2026-11-30, other lines left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.nccl_log import Judgement, judge

LOGS = Path(__file__).resolve().parents[4] / "fixtures" / "nccl"
CONTRACT = {
    "NCCL_DEBUG": "INFO", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "0", "NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0",
    "NCCL_NVLS_ENABLE": "0", "NCCL_IB_DISABLE": "1",
}  # fmt: skip
RANK = {0: "vm:10:10 [0] NCCL INFO ", 1: "vm:11:11 [1] NCCL INFO "}


def log(name: str) -> str:
    return (LOGS / f"{name}.log").read_text()


def judged(text: str, wanted: dict[str, str] | None = None, ranks: int = 2) -> Judgement:
    return judge(text, CONTRACT if wanted is None else wanted, ranks)


@pytest.mark.parametrize(
    ("name", "verdict", "transports", "says"),
    [
        ("contract", "honoured", {"SHM": 8}, "every rank pair goes via SHM"),
        ("expandable", "honoured", {"SHM": 8}, ""),
        ("p2p-off-only", "honoured", {"SHM": 8}, ""),
        ("p2p-off-cumem-on", "violated", {"SHM": 8}, "NCCL_CUMEM_ENABLE was taken as 1, the contract says 0"),
        ("default", "violated", {"P2P": 8}, "8 channels go via P2P"),
        ("shm-off", "violated", {"NET": 8}, "degraded: 8 channels of ranks on one host go via NET (sockets)"),
        ("tiny-shm", "violated", {}, "/dev/shm is too small: failed to extend /dev/shm/nccl-fVweCj to 9637892 bytes"),
        ("vllm-0.25.1-tp2-contract", "honoured", {"SHM": 16}, ""),
        ("vllm-0.25.1-tp2-default", "violated", {"P2P": 8}, "8 channels go via P2P"),
    ],
)
def test_real_logs_under_the_contract(name: str, verdict: str, transports: dict[str, int], says: str) -> None:
    found = judged(log(name))
    assert (found.verdict, found.transports, found.version) == (verdict, transports, "2.28.9")
    assert says in "; ".join(found.reasons)


@pytest.mark.parametrize("name", ["default", "contract", "vllm-0.25.1-tp2-default"])
def test_a_host_with_peer_access_may_use_it(name: str) -> None:
    assert judged(log(name), {"NCCL_DEBUG": "INFO"}).verdict == "honoured"


def test_sockets_between_ranks_of_one_host_are_never_right() -> None:
    assert judged(log("shm-off"), {}).verdict == "violated"


def test_each_communicator_has_its_own_channels() -> None:
    found = judged(log("vllm-0.25.1-tp2-contract")).communicators
    assert [(item.id, item.size, item.ranks) for item in found] == [
        ("0xcabe31180d76a611", 2, (0, 1)),
        ("0x8563eb7781980ace", 2, (0, 1)),
    ]
    assert all(item.pairs == ((0, 1, "SHM/direct/direct"), (1, 0, "SHM/direct/direct")) for item in found)


def test_echoes_support_and_their_absence_is_listed() -> None:
    found = judged(log("contract"))
    assert found.echoes["NCCL_P2P_DISABLE"] == ("1",)
    assert found.unseen == ("NCCL_IB_DISABLE",)
    assert judged(log("p2p-off-only")).unseen == (
        "NCCL_SHM_DISABLE",
        "NCCL_CUMEM_ENABLE",
        "NCCL_CUMEM_HOST_ENABLE",
        "NCCL_IB_DISABLE",
    )


def test_no_beginning_of_a_log_is_honoured_before_both_directions_are_there() -> None:
    lines = log("contract").splitlines()
    seen = set()
    for count in range(len(lines) + 1):
        text = "\n".join(lines[:count])
        verdict = judged(text).verdict
        both = "0[0] -> 1[1] via" in text and "1[1] -> 0[0] via" in text
        assert verdict == ("honoured" if both else "undetermined"), count
        seen.add(verdict)
    assert seen == {"honoured", "undetermined"}


def test_what_is_missing_is_said() -> None:
    cut = log("contract").split("Channel")[0]
    assert "no collective has run yet" in judged(cut).reasons[0]
    one = "\n".join(line for line in log("contract").splitlines() if "1[1] -> 0[0]" not in line)
    assert judged(one).reasons == ("communicator 0xf915c5817aa162be: no channel of rank 1 is in the log",)
    assert judged("").verdict == "undetermined"
    assert judged(log("contract"), ranks=4).verdict == "undetermined"


def test_prefixes_of_engines_and_docker_do_not_matter() -> None:
    prefixes = (
        "",
        "(Worker_TP1 pid=2093) ",
        "[TP0] ",
        "2026-11-30T20:36:39.123456789Z ",
        "\x1b[36m(EngineCore)\x1b[0m ",
    )
    lines = [f"{prefixes[index % len(prefixes)]}{line}" for index, line in enumerate(log("contract").splitlines())]
    assert judged("\n".join(lines)).verdict == "honoured"


def test_ranks_that_write_into_one_line() -> None:
    lines = log("default").splitlines()
    joined = "\n".join("".join(lines[index : index + 2]) for index in range(0, len(lines), 2))
    assert judged(joined).transports == judged(log("default")).transports
    torn = log("contract").replace("vm:736:736 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1", "vm:736:7", 1)
    assert judged(torn).verdict == "honoured"


@pytest.mark.parametrize(
    ("line", "transport"),
    [
        ("Channel 00 : {a}[19000] -> {b}[1a000] via SHM/direct/direct", "SHM"),  # 2.18.1: bus ids
        ("Channel 00 : {a}[0] -> {b}[1] via SHM/direct", "SHM"),  # 2.30.7
        ("Channel 00/0 : {a}[0] -> {b}[1] via P2P/IPC/read", "P2P"),
        ("Channel 00/0 : {a}[0] -> {b}[1] via P2P/direct pointer", "P2P"),
        ("Channel 00/0 : {a}[0] -> {b}[1] via P2P/MNNVL", "P2P"),
        ("Channel 00/0 : {a}[0] -> {b}[1] [send] via NET/Socket/0", "NET"),
        ("Channel 00/0 : {a}[0] -> {b}[1] [receive] via NET/IB/0/GDRDMA", "NET"),
    ],
)
def test_forms_of_other_versions(line: str, transport: str) -> None:
    text = "\n".join(
        f"{RANK[rank]}ncclCommInitRank comm 0x{rank + 1} rank {rank} nranks 2 cudaDev {rank} busId 10 - Init {state}"
        for rank in (0, 1)
        for state in ("START", "COMPLETE")
    )
    text += "\n" + "\n".join(RANK[rank] + line.format(a=rank, b=1 - rank) for rank in (0, 1))
    assert judged(text).transports == {transport: 2}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("vm:10:10 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 0", "NCCL_P2P_DISABLE was taken as 0"),
        ("vm:10:10 [0] NCCL INFO Invalid value yes for NCCL_CUMEM_ENABLE, using default -2.", "NCCL_CUMEM_ENABLE=yes was not understood"),
        ("[2026-11-30 20:36:39] vm:10:12 [0] transport/p2p.cc:300 NCCL WARN Cuda failure 999 'unknown error'", "Cuda failure 999 'unknown error'"),
        ("[2026-11-30 20:36:39] vm:10:12 [0] enqueue.cc:1 (ncclLaunch) NCCL WARN Cuda failure 'out of memory'", "Cuda failure 'out of memory'"),
        ("vm:10:10 [0] NCCL INFO alloc.h:231 (ncclCuMemMapAndSetAccess) -> 1", "the cuMem mapping failed"),
        ("vm:10:10 [0] transport.cc:1 NCCL WARN No transport found for rank 0[0] -> rank 1[1]", "no transport is left"),
        ("vm:10:10 [0] NCCL INFO Connected NVLS tree", "NVLS is in use"),
        ("vm:10:10 [0] NCCL INFO Check P2P Type intraNodeP2pSupport 1 directMode 0", "direct peer access"),
    ],
)  # fmt: skip
def test_one_line_violates(line: str, says: str) -> None:
    found = judged(f"{log('contract')}{line}\n")
    assert found.verdict == "violated"
    assert says in "; ".join(found.reasons)


def test_lines_that_violate_nothing() -> None:
    more = "\n".join(
        RANK[0] + text
        for text in (
            "Using network Socket",
            "NET/Socket : Using [0]eth0:192.0.2.2<0>",
            "Check P2P Type isAllDirectP2p 0 directMode 0 isAllCudaP2p 1",
            "transport/net_ib.cc:852 -> 3",
            "NVLS multicast support is not available on dev 0",
        )
    )
    assert judged(f"{log('contract')}{more}\n").verdict == "honoured"


def test_text_of_a_log_is_bounded_and_plain() -> None:
    hostile = "\x1b[31m" + "x" * 5000
    found = judged("".join(f"vm:10:10 [0] a.cc:1 NCCL WARN {number} {hostile}\n" for number in range(50)))
    assert len(found.warnings) == 6
    assert all(len(text) <= 240 and "\x1b" not in text for text in found.warnings)
