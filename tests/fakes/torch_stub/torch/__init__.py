"""As much of PyTorch as the probe's ranks use, on plain lists. What goes wrong is in PROBE_FAULT: ``{"<rank>": "<fault>"}``.

The sum is a real one over real processes, by way of files; NCCL's lines are made up in the form that 2.28.9 writes.
"""

from __future__ import annotations

import json
import os
import signal
import time
from types import SimpleNamespace
from typing import Any

__version__ = "0.0.stub"
float64 = bfloat16 = None
UUIDS = os.environ.get("PROBE_UUIDS", "").split(",")


def _shared_memory(path: int | str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> os.statvfs_result:
    """A machine's own /dev/shm is no matter of a unit test."""
    assert path == "/dev/shm"
    return os.statvfs_result((1, 1, int(float(os.environ["PROBE_SHM_GIB"]) * 2**30), *[0] * 7))


if "PROBE_SHM_GIB" in os.environ:
    os.statvfs = _shared_memory


def fault(rank: int) -> str:
    return str(json.loads(os.environ.get("PROBE_FAULT", "{}")).get(str(rank), ""))


class Tensor:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def _each(self, other: Any, act: Any) -> Tensor:
        others = other.values if isinstance(other, Tensor) else [other] * len(self.values)
        return Tensor([act(one, two) for one, two in zip(self.values, others, strict=True)])

    def __add__(self, other: Any) -> Tensor:
        return self._each(other, lambda one, two: one + two)

    __radd__ = __add__

    def __rmul__(self, other: Any) -> Tensor:
        return self._each(other, lambda one, two: one * two)

    def __ne__(self, other: object) -> Any:
        return self._each(other, lambda one, two: float(one != two))

    def sum(self) -> Tensor:
        return Tensor([sum(self.values)])

    def item(self) -> float:
        return self.values[0]


def arange(count: int, **_options: Any) -> Tensor:
    return Tensor([float(number) for number in range(count)])


def zeros(_count: int, **_options: Any) -> Tensor:
    return Tensor([0.0])


def _set_device(rank: int) -> None:
    if fault(rank) == "no-device":
        raise RuntimeError("CUDA error: invalid device ordinal")
    if fault(rank) == "sigfpe":
        os.kill(os.getpid(), signal.SIGFPE)
        time.sleep(10)


cuda = SimpleNamespace(
    set_device=_set_device,
    synchronize=lambda: None,
    get_device_properties=lambda rank: SimpleNamespace(
        name="NVIDIA RTX PRO 6000", major=12, minor=0, uuid=UUIDS[rank].removeprefix("GPU-")
    ),
    nccl=SimpleNamespace(version=lambda: (2, 28, 9)),
)
