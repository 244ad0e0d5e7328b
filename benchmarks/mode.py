"""Taking a host and giving it back, against the raw Docker API and against a play of community.docker tasks: ratios of one run.

    make bench-mode            # needs root: an engine of its own is started; the peer's collections are installed into .bench/venv

Prints every figure with its bar and ends with 1 where one is missed. Medians of ROUNDS interleaved rounds; not a test.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._host.docker import Docker
from ansible_collections.tandem.campaign.plugins.module_utils._mode.service import is_healthy
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Health, Service
from ansible_collections.tandem.campaign.tests.fakes.bench import Bench, free_port
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import Daemon, private_daemon
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
#: Seconds each of four services takes to become healthy after its start.
START_S = {"a-model": 1.0, "b-model": 0.6, "c-model": 0.4, "d-model": 0.2}
LOAD_S = 0.5
BARS: list[tuple[str, float, float]] = []

HEAD = """
- hosts: localhost
  gather_facts: false
  connection: local
"""
EMPTY = HEAD + "  tasks: []\n"
PEER = (
    HEAD
    + """
  module_defaults:
    group/community.docker.docker:
      docker_host: "unix://{{ socket }}"
  tasks:
    - community.docker.docker_container: {name: swapped, state: stopped, stop_timeout: 5}
    - ansible.builtin.wait_for: {port: "{{ port }}", state: stopped}
    - community.docker.docker_container:
        name: swapped
        state: started
        comparisons: {"*": ignore}
    - ansible.builtin.uri:
        url: "http://127.0.0.1:{{ port }}/health"
      register: answer
      until: answer is succeeded
      retries: 60
      delay: 1
"""
)
OURS = (
    HEAD
    + """
  tasks:
    - tandem.campaign.gpu_mode:
        state: exclusive
        host: "{{ host }}"
        state_dir: "{{ campaign_state_dir }}"
        campaign: swap
        identity: "{{ identity }}"
    - tandem.campaign.gpu_mode:
        state: restored
        state_dir: "{{ campaign_state_dir }}"
"""
)


def hold_to(name: str, value: float, limit: float) -> None:
    BARS.append((name, value, limit))
    sys.stdout.write(f"{'ok    ' if value <= limit else 'MISSED'} {name}: {value:.3f} (bar {limit:.3f})\n")
    sys.stdout.flush()


def timed(act: Callable[[], Any]) -> float:
    start = time.monotonic()
    act()
    return time.monotonic() - start


def wait_healthy(*services: Service) -> None:
    for service in services:
        while service.health and not is_healthy(service.health):
            time.sleep(0.01)


def four_services(daemon: Daemon, bench: Bench) -> None:
    services = {}
    for name, start_s in START_S.items():
        port = free_port()
        daemon.run_httpd(name, port, start_s=start_s)
        health = Health(url=f"http://127.0.0.1:{port}/health", start_s=20)
        services[name] = Service("container", name=name, stop_s=5.0, health=health)
    bench.declare(services=services, docker_socket=daemon.socket)
    wait_healthy(*services.values())


def exclusive_and_restore(daemon: Daemon, folder: Path) -> None:
    """Each service stopped and started alone, then all of them as the mode's services."""
    bench, docker = Bench(folder), daemon.docker()
    four_services(daemon, bench)
    stops: dict[str, list[float]] = {name: [] for name in START_S}
    starts: dict[str, list[float]] = {name: [] for name in START_S}
    taken, given_back = [], []
    for _round in range(ROUNDS):
        for name, service in bench.host.services.items():
            stops[name].append(timed(lambda name=name: docker.stop(name, 5.0)))
            starts[name].append(timed(lambda name=name, service=service: (docker.start(name), wait_healthy(service))))
        taken.append(timed(bench.enter))
        given_back.append(timed(bench.heal))
    longest = max(map(statistics.median, stops.values()))
    slowest = max(map(statistics.median, starts.values()))
    sys.stdout.write(f"longest single stop {longest:.3f} s, slowest start-to-healthy {slowest:.3f} s\n")
    hold_to("exclusive with four containers, s", statistics.median(taken), 1.3 * longest + 0.5)
    hold_to("restore to healthy, s", statistics.median(given_back), 1.3 * slowest + 0.5)
    daemon.remove_all()


def deaf_service(daemon: Daemon) -> None:
    docker, over = daemon.docker(), []
    for _round in range(3):
        daemon.run_httpd("deaf", free_port(), deaf=True)
        time.sleep(0.3)
        over.append(timed(lambda: docker.stop("deaf", 1.0)) - 1.0)
        daemon.remove_all()
    hold_to("a service that ignores TERM: stop time less its bound, s", statistics.median(over), 0.25)


@dataclass(frozen=True)
class Plays:
    """ansible-playbook of one Python environment, with variables."""

    folder: Path
    python: Path
    variables: dict[str, Any]

    def seconds(self, playbook: str | Path) -> float:
        """Wall clock of one run; raises where it fails."""
        file = self.folder / "play.yml" if isinstance(playbook, str) else playbook
        if isinstance(playbook, str):
            file.write_text(playbook)
        extra = json.dumps(
            {"ansible_connection": "local", "ansible_python_interpreter": str(self.python), **self.variables}
        )
        command = [str(self.python.parent / "ansible-playbook"), "-i", "localhost,", str(file), "-e", extra]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHONPATH"))}
        environment = {
            **kept,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
        }
        start = time.monotonic()
        done = subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )  # fmt: skip
        took = time.monotonic() - start
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        return took


def raw_swap(docker: Docker, service: Service) -> None:
    docker.stop("swapped", 5.0)
    docker.start("swapped")
    wait_healthy(service)


def swap(daemon: Daemon, folder: Path) -> None:
    """One service out and in again until it answers: raw API, our two tasks, the peer's four, an empty play; in turn."""
    port, docker = free_port(), daemon.docker()
    daemon.run_httpd("swapped", port, start_s=LOAD_S)
    service = Service(
        "container", name="swapped", stop_s=5.0, health=Health(url=f"http://127.0.0.1:{port}/health", start_s=20)
    )
    wait_healthy(service)
    bench = Bench(folder)
    bench.declare(services={"swapped": service}, docker_socket=daemon.socket)
    documents = {"host": to_document(bench.host), "identity": to_document(identity())}
    ours = Plays(
        folder,
        Path(sys.executable),
        {**documents, "campaign_state_dir": str(bench.state_dir), "campaign_hosts": "localhost"},
    )
    peer = Plays(folder, ROOT / ".bench/venv/bin/python", {"socket": daemon.socket, "port": port})
    figures: dict[str, list[float]] = {"raw": [], "ours": [], "peer": [], "empty": []}
    for _round in range(ROUNDS):
        figures["raw"].append(timed(lambda: raw_swap(docker, service)))
        figures["empty"].append(ours.seconds(EMPTY))
        figures["ours"].append(ours.seconds(OURS))
        figures["peer"].append(peer.seconds(PEER))
    median = {name: statistics.median(values) for name, values in figures.items()}
    for name, values in figures.items():
        sys.stdout.write(f"swap, {name}: {median[name]:.2f} s [{min(values):.2f}..{max(values):.2f}]\n")
    hold_to("swap / community.docker and uri", median["ours"] / median["peer"], 0.60)
    hold_to("(swap - empty play) / raw API", (median["ours"] - median["empty"]) / median["raw"], 2.2)
    restores = [ours.seconds(ROOT / "playbooks/restore.yml") for _round in range(ROUNDS)]
    hold_to("restore of a restored host, s", statistics.median(restores), 1.0)
    daemon.remove_all()


def keeper_at_rest(daemon: Daemon, folder: Path, seconds: float = 60.0) -> None:
    """Its CPU time and memory while it holds a host with four containers out and nothing happens."""
    bench = Bench(folder)
    four_services(daemon, bench)
    # Nobody sends heartbeats here.
    bench.declare(lease_s=3600.0)
    bench.enter()
    pid = int(json.loads(Path(bench.host.lock_path).read_text())["pid"])
    time.sleep(5)
    before, start = _cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    share = (_cpu_s(pid) - before) / (time.monotonic() - start)
    status = Path(f"/proc/{pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
    bench.heal()
    daemon.remove_all()
    hold_to("keeper at rest, % of a core", 100 * share, 0.2)
    hold_to("keeper at rest, MiB", memory, 30.0)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Every measurement, or those named on the command line."""
    measurements: dict[str, Callable[[Daemon, Path], None]] = {
        "mode": exclusive_and_restore,
        "deaf": lambda daemon, _folder: deaf_service(daemon),
        "swap": swap,
        "keeper": keeper_at_rest,
    }
    with private_daemon() as daemon:
        for name in sys.argv[1:] or measurements:
            with tempfile.TemporaryDirectory() as folder:
                measurements[name](daemon, Path(folder))
    return int(any(value > limit for _name, value, limit in BARS))


if __name__ == "__main__":
    sys.exit(main())
