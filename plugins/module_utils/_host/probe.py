# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the host: kernel, memory, GPUs. The only file that runs nvidia-smi; commands go through an injected runner."""

from __future__ import annotations

import os
import platform
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._words.host import Gpu, HostFacts
from .topology import farthest_link, names, parse_square, peer_access

#: Runs an argument list: (exit status, standard output, standard error). A program that is not there has status 127.
Runner = Callable[[list[str]], tuple[int, str, str]]

SMI_FIELDS = "index,name,uuid,pci.bus_id,driver_version,memory.total,memory.used,power.limit,compute_cap"
SMI_PATHS = ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")
WINDOWS_SHELL = "/mnt/c/Windows/System32/cmd.exe"
#: A line of dmesg, and what in it is about a GPU: WSL2's paravirtual driver, NVIDIA's, the OOM killer.
KERNEL_LINE = re.compile(r"\[ *(\d+\.\d+)\] (.*)")
KERNEL_GPU = re.compile(r"dxgk|NVRM|Xid|Out of memory: Killed|oom-kill")
KERNEL_LINES = 40
NOT_SAID = {"", "[n/a]", "n/a", "[not supported]", "[unknown error]", "[insufficient permissions]"}


def run_program(arguments: list[str]) -> tuple[int, str, str]:
    """The runner for a real host: bounded, no shell, 127 where the program is not there."""
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return 127, "", str(exc)
    return done.returncode, done.stdout, done.stderr


def read_facts(run: Runner) -> HostFacts:
    """What can be known without touching a GPU."""
    kernel = platform.release()
    gpus = read_gpus(run)
    links, peers = (read_square(run, *options) for options in (("-m",), ("-p2p", "r"))) if len(gpus) > 1 else ({}, {})
    wsl2 = "microsoft" in kernel.lower() or Path("/dev/dxg").exists()
    return HostFacts(
        observed=True,
        wsl2=wsl2,
        link=farthest_link(links),
        links=tuple(names(links, [gpu.uuid for gpu in gpus])),
        peer_access=peer_access(peers),
        windows=read_windows(run) if wsl2 else None,
        docker_client=read_docker_client(run),
        gpus=gpus,
        kernel=kernel,
        cpu_model=_cpu_model(),
        cpu_count=os.cpu_count(),
        memory_gib=_gib(_meminfo_total()),
        shm_gib=_gib(shutil.disk_usage("/dev/shm").total) if Path("/dev/shm").is_dir() else None,
        python=platform.python_version(),
        user=pwd.getpwuid(os.geteuid()).pw_name,
    )


def read_gpus(run: Runner) -> tuple[Gpu, ...]:
    """The devices, in the order of the listing; none where nvidia-smi is not there or says nothing."""
    for program in SMI_PATHS:
        status, output, _error = run([program, f"--query-gpu={SMI_FIELDS}", "--format=csv,noheader,nounits"])
        if status == 0:
            return parse_gpus(output)
    return ()


def read_square(run: Runner, *options: str) -> dict[tuple[int, int], str]:
    """``nvidia-smi topo`` with the options; empty where it says nothing."""
    for program in SMI_PATHS:
        status, output, _error = run([program, "topo", *options])
        if status == 0:
            return parse_square(output)
    return {}


def read_windows(run: Runner) -> str | None:
    """The version of the Windows below; None where its programs can't be called from here, as under ssh and services."""
    status, output, _error = run([WINDOWS_SHELL, "/c", "ver"])
    match = re.search(r"\[\S* ?(\d+(?:\.\d+)+)\]", output) if status == 0 else None
    return match[1] if match else None


def read_docker_client(run: Runner) -> str | None:
    """The version of the ``docker`` command, which says nothing of the engine."""
    status, output, _error = run(["docker", "--version"])
    match = re.search(r"version ([\w.+-]+)", output) if status == 0 else None
    return match[1].rstrip(",") if match else None


def parse_gpus(listing: str) -> tuple[Gpu, ...]:
    """Parses ``--query-gpu`` CSV without header or units; a field the driver does not tell becomes None."""
    gpus = []
    for line in listing.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(SMI_FIELDS.split(",")):
            continue
        said = [None if cell.lower() in NOT_SAID else cell for cell in cells]
        gpus.append(
            Gpu(
                index=int(cells[0]),
                name=cells[1],
                uuid=cells[2],
                bus_id=cells[3],
                driver=cells[4],
                memory_total_mib=_whole(said[5]),
                memory_used_mib=_whole(said[6]),
                power_limit_w=float(said[7]) if said[7] else None,
                compute_capability=said[8],
            )
        )
    return tuple(gpus)


def read_kernel_faults(run: Runner, seconds: float) -> str:
    """Lines of the kernel's log about GPUs, shared by all of WSL2's distributions; empty where it may not be read. Of the last ``seconds``."""
    status, output, _error = run(["dmesg"])
    uptime = next(iter(_lines("/proc/uptime")), "").split(" ", 1)[0]
    since = float(uptime) - seconds if uptime else 0.0
    return "\n".join(recent_kernel_faults(output, since)) if status == 0 else ""


def recent_kernel_faults(log: str, since: float) -> list[str]:
    """``[seconds since boot] text``, as dmesg prints it; the last few of them."""
    found = []
    for line in log.splitlines():
        match = KERNEL_LINE.match(line)
        if match and float(match[1]) >= since and KERNEL_GPU.search(match[2]):
            found.append(f"kernel: {match[2]}")
    return found[-KERNEL_LINES:]


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def folder_report(path: str) -> dict[str, Any]:
    """Whether ``path`` (or the nearest parent that exists) can be written, and its free space in GiB."""
    nearest = Path(path)
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    return {
        "path": path,
        "writable": nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK),
        "free_gib": _gib(shutil.disk_usage(nearest).free),
    }


def default_state_dir() -> str:
    """Root's state is the system's; everybody else's is their own."""
    if os.geteuid() == 0:
        return "/var/lib/tandem-campaign"
    return str(Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "tandem-campaign")


def read_engine_environment(python: str, run: Runner) -> dict[str, Any]:
    """The distributions of an engine's Python environment: ``{python, distributions: {name: version}, problem}``."""
    program = (
        "import importlib.metadata as m, platform;"
        "print(platform.python_version());"
        "[print(d.metadata['Name'].lower().replace('_', '-'), d.version) for d in m.distributions()]"
    )
    status, output, error = run([python, "-c", program])
    if status != 0:
        return {
            "python": None,
            "distributions": {},
            "problem": (error or "it can't be run").strip().splitlines()[-1][:300],
        }
    version, *lines = output.splitlines()
    return {
        "python": version,
        "distributions": dict(line.split(" ", 1) for line in lines if " " in line),
        "problem": None,
    }


def _whole(text: str | None) -> int | None:
    return int(float(text)) if text else None


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / 2**30, 3)


def _cpu_model() -> str | None:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine() or None


def _meminfo_total() -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
