# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank a GPU: a collective whose result is known, its transport in NCCL's own lines, its bandwidth. A program of its own.

Runs inside the engine's image or environment, of which it needs Python 3.9 and PyTorch with NCCL, and nothing of this collection:
``python ranks.py '{"ranks": 2, "limit_s": 90, "mib": 128}'``. Its own lines begin with MARK and hold a JSON document each; all others are NCCL's.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from typing import Any

MARK = "==tandem-probe=="
#: What a rank says of itself, in this order; where it hangs, the last one tells at what.
STAGES = ("started", "device", "joined", "checked", "measured")
ROUNDS, WARM = 8, 3
COUNT = 4096
#: Ranks may stop at different places for a moment; after the first failure the others have this long.
FOLLOW_S = 10.0
Request = dict[str, Any]
Process = subprocess.Popen[bytes]


def say(**document: Any) -> None:
    """One line, whole, as several ranks write into the same stream."""
    os.write(1, ("\n" + MARK + json.dumps(document) + "\n").encode())


def parent(request: Request) -> int:
    """Starts the ranks, waits for all of them within the limit, tells every rank's end. Exit status 0 where all have ended well."""
    deadline = time.monotonic() + request["limit_s"]
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(request["ranks"]):
            child = dict(request, rank=rank, meeting=os.path.join(folder, "meeting"))
            ranks.append(
                subprocess.Popen(
                    [sys.executable, "-u", os.path.abspath(__file__), json.dumps(child)], start_new_session=True
                )
            )
        _stop_with_us(ranks)
        while any(process.poll() is None for process in ranks) and time.monotonic() < deadline:
            if any(process.poll() not in (None, 0) for process in ranks):
                deadline = min(deadline, time.monotonic() + FOLLOW_S)
            time.sleep(0.05)
        for rank, process in enumerate(ranks):
            hung = process.poll() is None
            if hung:
                _kill(process)
                process.wait()
            say(rank=rank, ended=process.returncode, hung=hung)
    return 0 if all(process.returncode == 0 for process in ranks) else 1


def _stop_with_us(ranks: list[Process]) -> None:
    def stop(number: int, _frame: Any) -> None:
        for process in ranks:
            _kill(process)
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def child(request: Request) -> None:
    """One rank; tells each stage as it is reached."""
    rank, ranks = request["rank"], request["ranks"]
    # Should the parent be killed, nothing of a rank stays on the GPU.
    watch = threading.Timer(request["limit_s"] + 5, os._exit, (1,))
    watch.daemon = True
    watch.start()
    say(rank=rank, stage="started", pid=os.getpid())
    torch, dist = (importlib.import_module(name) for name in ("torch", "torch.distributed"))
    torch.cuda.set_device(rank)
    properties = torch.cuda.get_device_properties(rank)
    say(
        rank=rank,
        stage="device",
        name=properties.name,
        uuid=_uuid(properties, rank),
        capability=f"{properties.major}.{properties.minor}",
        torch=torch.__version__,
        nccl=".".join(map(str, torch.cuda.nccl.version())),
        shm_gib=_shm_gib(),
    )
    dist.init_process_group(
        "nccl",
        init_method="file://" + request["meeting"],
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=request["limit_s"]),
    )
    say(rank=rank, stage="joined")
    # Every element and every rank has its own value: a sum of swapped, lost or doubled parts is another one.
    index = torch.arange(COUNT, device="cuda", dtype=torch.float64)
    mine = (rank + 1) * 1000.0 + index
    dist.all_reduce(mine)
    expected = 1000.0 * ranks * (ranks + 1) / 2 + ranks * index
    wrong = int((mine != expected).sum().item())
    say(rank=rank, stage="checked", wrong=wrong, elements=COUNT)
    if wrong:
        raise SystemExit(3)
    seconds = _measure(torch, dist, request["mib"])
    size = request["mib"] * 2**20
    # Bus bandwidth of an all-reduce: bytes x 2 (n - 1) / n / time (nccl-tests, PERFORMANCE.md).
    say(
        rank=rank,
        stage="measured",
        mib=request["mib"],
        seconds=seconds,
        bus_gb_s=size * 2 * (ranks - 1) / ranks / seconds / 1e9,
    )
    dist.destroy_process_group()


def _measure(torch: Any, dist: Any, mib: int) -> float:
    """The median time of one all-reduce of ``mib`` MiB."""
    data = torch.zeros(mib * 2**20 // 2, device="cuda", dtype=torch.bfloat16)
    times = []
    for number in range(WARM + ROUNDS):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        dist.all_reduce(data)
        torch.cuda.synchronize()
        if number >= WARM:
            times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _uuid(properties: Any, rank: int) -> str | None:
    """The device as it is seen in here. PyTorch tells it from 2.4 on; before that the driver's tool does, in the order of the numbers."""
    own = str(getattr(properties, "uuid", "") or "")
    if own:
        return own if own.startswith("GPU-") else "GPU-" + own
    for tool in ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"):
        try:
            listed = re.findall(
                r"GPU-[0-9a-f-]{36}",
                subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20, check=False).stdout,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if rank < len(listed):
            return str(listed[rank])
    return None


def _shm_gib() -> float | None:
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return round(found.f_frsize * found.f_blocks / 2**30, 4)


def main() -> int:
    request = json.loads(sys.argv[1])
    if "rank" not in request:
        return parent(request)
    try:
        child(request)
    except Exception as exc:  # the last thing that a rank can say
        say(rank=request["rank"], error=f"{type(exc).__name__}: {str(exc)[:2000]}")
        os._exit(2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
