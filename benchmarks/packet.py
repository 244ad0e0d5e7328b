"""What evidence costs to check, to report and to publish, on a five-lane packet of the rehearsal.

    make bench-packet

Every program is timed from its start to its end, imports included. Prints each figure with its bar and ends with 1 where one is missed. Not a test.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.tandem.campaign.plugins.plugin_utils.published import publish
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_files import report_files
from ansible_collections.tandem.campaign.tests.fakes.planted import plant

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "ansible_collections.tandem.campaign.plugins.plugin_utils.report_files"
ONE = f"import sys, pathlib; from {PROGRAM} import report_files as made; made(pathlib.Path(sys.argv[1]))"
MANY = f"import sys, pathlib; from {PROGRAM} import many_report_files as made; made([pathlib.Path(p) for p in sys.argv[1:]])"
RUNS, PACKETS, PLANTED = 5, 100, 200
MB = 1e6


@dataclass(frozen=True)
class Cost:
    """Of one process: seconds from start to end, and its peak memory in MB."""

    wall_s: float
    memory_mb: float


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        packet = rehearsed(Path(folder))
        checked = [cost_of(str(packet.parents[1] / "packet_check.pyz"), str(packet)) for _run in range(RUNS)]
        reported = [cost_of("-c", ONE, str(packet)) for _run in range(RUNS)]
        many = cost_of("-c", MANY, *(str(copy) for copy in copies(packet)))
        page = len(report_files(packet, ["html"], raw=False)["report.html"].encode())
        raw = len(report_files(packet, ["html"])["report.html"].encode())
        planted, left = planted_and_left(packet)
    print(f"the page with every request and answer: {raw / MB:.2f} MB")
    met = [
        told("packet_check of five lanes, median", statistics.median(one.wall_s for one in checked), 1.0, "s"),
        told(
            "report of five lanes (Markdown, pictures, page), median",
            statistics.median(one.wall_s for one in reported),
            5.0,
            "s",
        ),
        told(f"report over {PACKETS} packets", many.wall_s, 60.0, "s"),
        told(f"its peak memory over {PACKETS} packets", many.memory_mb, 500.0, "MB"),
        told("the page without requests and answers", page / MB, 2.0, "MB"),
        told(f"of {planted} planted secrets and traces left in the published copy", left, 0, ""),
        planted >= PLANTED,
    ]
    return 0 if all(met) else 1


def rehearsed(folder: Path) -> Path:
    """The packet of a rehearsal's five lanes."""
    subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), str(ROOT / "playbooks" / "campaign.yml"), "-i", str(ROOT / "inventories" / "rehearsal"),
         "-l", "primary", "-e", json.dumps({"campaign_dir": str(folder), "campaign_state_dir": str(folder / "state")})],
        cwd=ROOT, env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return folder / "rehearsal" / "primary"


def copies(packet: Path) -> list[Path]:
    """As many hosts' packets as the bar speaks of; each is read on its own."""
    return [
        Path(shutil.copytree(packet, packet.parents[1] / "fleet" / f"host{number}", ignore=shutil.ignore_patterns("published", "charts")))
        for number in range(PACKETS)
    ]  # fmt: skip


def cost_of(*arguments: str) -> Cost:
    """Of this Python with ``arguments``; raises where it fails."""
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments[0]} ended with {process.returncode}")
    return Cost(time.monotonic() - start, usage.ru_maxrss * 1024 / MB)


def planted_and_left(packet: Path) -> tuple[int, int]:
    """How many secrets and traces were planted in the packet's artifacts, and how many its published copy still has."""
    shutil.rmtree(packet / "published")
    planted = plant(packet)
    publish(packet, "workstation")
    copy = "\n".join(file.read_text(encoding="utf-8") for file in (packet / "published").rglob("*") if file.is_file())
    return len(planted), sum(gone in copy or json.dumps(gone)[1:-1] in copy for _kind, _name, gone in planted)


def told(what: str, value: float, limit: float, unit: str) -> bool:
    """One figure with its bar; whether it is met."""
    met = value <= limit
    print(f"{what}: {value:.3g} {unit} (bar {limit:g} {unit}) {'ok' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    sys.exit(main())
