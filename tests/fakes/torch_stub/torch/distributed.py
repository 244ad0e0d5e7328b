"""A process group over files."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from . import Tensor, fault

_group: dict[str, Any] = {"turn": 0}


def init_process_group(_backend: str, *, init_method: str, rank: int, world_size: int, **_options: Any) -> None:
    _group.update(meeting=init_method.removeprefix("file://"), rank=rank, size=world_size)


def all_reduce(data: Tensor) -> None:
    rank, size, turn = _group["rank"], _group["size"], _group["turn"]
    _group["turn"] += 1
    if fault(rank) == "hang":
        time.sleep(600)
    if turn == 0:
        _say(rank, size)
    if fault(rank) == "die":
        os._exit(9)
    mine = Path(f"{_group['meeting']}.{turn}.{rank}")
    Path(f"{mine}.new").write_text(json.dumps(data.values))
    os.replace(f"{mine}.new", mine)
    parts = []
    for other in range(size):
        path = Path(f"{_group['meeting']}.{turn}.{other}")
        while not path.exists():
            time.sleep(0.005)
        parts.append(json.loads(path.read_text()))
    total = [sum(values) for values in zip(*parts, strict=True)]
    data.values = total[1:] + total[:1] if fault(rank) == "wrong" and turn == 0 else total


def _say(rank: int, size: int) -> None:
    transport = {"p2p": "P2P/CUMEM", "sockets": "NET/Socket/0"}.get(fault(rank), "SHM/direct/direct")
    prefix = f"vm:{os.getpid()}:{os.getpid()} [{rank}] NCCL INFO "
    lines = [
        "NCCL version 2.28.9+cuda13.0",
        *(
            f"ncclCommInitRank comm 0x{rank + 1} rank {rank} nranks {size} cudaDev {rank} busId 10 commId 0xab - Init {state}"
            for state in ("START", "COMPLETE")
        ),
    ]
    if fault(rank) != "silent":
        lines.append(f"Channel 00 : {rank}[{rank}] -> {(rank + 1) % size}[0] via {transport}")
    os.write(1, "".join(f"{prefix}{line}\n" for line in lines).encode())


def destroy_process_group() -> None:
    """Nothing to destroy."""
