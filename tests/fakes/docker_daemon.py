"""A Docker Engine of the tests' own: its own data, exec root, containerd, socket and pid file, no bridge, no iptables.

Nothing of a user's own engine is touched. It takes root, as any engine does; images are made here, nothing is pulled.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._host.docker import Docker
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of, stop

TINY = "tandem-test/tiny:1"
PROGRAMS = Path(__file__).parent
MACHINE = "tandem-test/machine:1"
#: Debian's Python with the demo's engine (tools/demo_image.py); SCRIPTED is the same with scripted_engine.py and a nvidia-smi inside.
ENGINE = "tandem-test/engine:1"
SCRIPTED = "tandem-test/scripted:1"
ENGINE_ARCHIVE = Path(os.environ.get("TANDEM_DEMO_DIR") or PROGRAMS.parents[1] / ".demo") / "docker" / "engine.tar"
#: What a container's toolkit would have put there: lists the devices that the container was given, or a file's instead.
SMI_INSIDE = """#!/bin/sh
devices=$(tr '\\0' '\\n' < /proc/1/environ | sed -n 's/^NVIDIA_VISIBLE_DEVICES=//p')
test -r /opt/devices && devices=$(cat /opt/devices)
number=0
for device in $(echo "$devices" | tr ',' ' '); do
  echo "GPU $number: NVIDIA RTX PRO 6000 (UUID: $device)"
  number=$((number + 1))
done
"""
#: A network namespace of the engine's own: its bridge is nobody else's. Ports are published on the loopback in there, by docker-proxy.
NAMESPACE = ("unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
#: A folder, a link or a file's content in an image.
Entry = bytes | str | None


class Daemon:
    """One engine. ``docker()`` is our hand on it, ``cli`` Docker's own command."""

    def __init__(self, folder: Path, programs: Path | None = None, *, bridge: bool = False) -> None:
        self.folder = folder
        self.bridge = bridge
        self.environment = {**os.environ, "PATH": ":".join(filter(None, (str(programs or ""), os.environ["PATH"])))}
        self.socket = str(folder / "docker.sock")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        places = [
            "--data-root",
            "data",
            "--exec-root",
            "exec",
            "--pidfile",
            "docker.pid",
            "--config-file",
            "daemon.json",
        ]
        arguments = [item if item.startswith("--") else str(self.folder / item) for item in places]
        (self.folder / "daemon.json").write_text("{}")
        with (self.folder / "dockerd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*NAMESPACE, "dockerd", *arguments, "--host", f"unix://{self.socket}", "--iptables=false", "--ip6tables=false"]
                if self.bridge
                else ["dockerd", *arguments, "--host", f"unix://{self.socket}", "--bridge=none", "--iptables=false", "--ip6tables=false"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while self._ping() != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"dockerd did not start:\n{(self.folder / 'dockerd.log').read_text()[-3000:]}")
            time.sleep(0.1)

    def _ping(self) -> int:
        return subprocess.run(
            ["docker", "--host", f"unix://{self.socket}", "version"], capture_output=True, check=False
        ).returncode

    def stop(self) -> None:
        identity = identity_of(self.process.pid) if self.process else None
        if identity:
            stop(identity, 20.0)
        if self.process:
            self.process.wait(10)

    def restart(self) -> None:
        self.stop()
        self.start()

    def docker(self) -> Docker:
        return Docker(self.socket)

    def cli(self, *arguments: str) -> str:
        done = subprocess.run(
            ["docker", "--host", f"unix://{self.socket}", *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"docker {' '.join(arguments)}: {done.stderr}")
        return done.stdout.strip()

    def make_images(self) -> None:
        """``TINY``: one static busybox with a shell, sleep, httpd. ``MACHINE``: nothing, for this machine's own /usr to be mounted in."""
        busybox = Path(shutil.which("busybox") or "/bin/busybox").read_bytes()
        tiny: dict[str, Entry] = dict.fromkeys(("bin", "www", "tmp", "proc"))
        tiny |= {"bin/busybox": busybox, "www/health": b"ok\n"}
        tiny |= {f"bin/{name}": "busybox" for name in ("sh", "sleep", "httpd", "true")}
        self._import(TINY, tiny)
        folders = (
            "etc",
            "etc/systemd",
            "etc/systemd/system",
            "run",
            "tmp",
            "proc",
            "sys",
            "var",
            "var/log",
            "dev",
            "usr",
            "root",
        )
        machine: dict[str, Entry] = dict.fromkeys(folders)
        machine |= {name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")}
        machine |= {
            "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
            "etc/group": b"root:x:0:\n",
            "etc/machine-id": b"",
        }
        self._import(MACHINE, machine)

    def make_engine_images(self) -> None:
        """``ENGINE`` and ``SCRIPTED``."""
        changes = ['ENTRYPOINT ["/opt/tandem/llama-cpp-server"]', "ENV LANG=C.UTF-8"]
        options = [item for change in changes for item in ("--change", change)]
        self.cli("import", *options, str(ENGINE_ARCHIVE), ENGINE)
        self.derive(
            ENGINE,
            SCRIPTED,
            {
                "opt/scripted_engine.py": (PROGRAMS / "scripted_engine.py").read_bytes(),
                "usr/bin/nvidia-smi": SMI_INSIDE.encode(),
            },
        )

    def derive(self, base: str, image: str, files: dict[str, bytes], *changes: str) -> None:
        """``base`` with some files more, by Docker's own commands."""
        container = self.cli("create", base, "true")
        buffer = _archive(files)
        command = ["docker", "--host", f"unix://{self.socket}", "cp", "-", f"{container}:/"]
        subprocess.run(command, input=buffer, capture_output=True, check=True)
        self.cli(
            "commit", *(item for change in ("CMD []", *changes) for item in ("--change", change)), container, image
        )
        self.cli("rm", container)

    def publish(self, image: str, registry: str, name: str) -> str:
        """Pushes; returns ``registry/name@sha256:…``."""
        tag = f"{registry}/{name}:1"
        self.cli("tag", image, tag)
        self.cli("push", "--quiet", tag)
        digests: list[str] = json.loads(self.cli("inspect", "--format", "{{json .RepoDigests}}", tag))
        return next(item for item in digests if item.startswith(registry))

    def _import(self, image: str, entries: dict[str, Entry]) -> None:
        """None is a folder, text a link, bytes a program or file."""
        command = ["docker", "--host", f"unix://{self.socket}", "import", "-", image]
        subprocess.run(command, input=_archive(entries), capture_output=True, check=True)

    def run_httpd(self, name: str, port: int, *options: str, start_s: float = 0.0, deaf: bool = False) -> None:
        """A service that answers 200 at /health ``start_s`` after its start; a deaf one ignores SIGTERM."""
        trap = "trap '' TERM" if deaf else "trap 'exit 0' TERM"
        script = (
            f"{trap}; sleep {start_s}; httpd -f -p 127.0.0.1:{port} -h /www & while true; do wait; sleep 0.05; done"
        )
        self.cli("run", "--detach", "--name", name, "--network", "host", *options, TINY, "sh", "-c", script)

    def run_engine(self, name: str, port: int, *options: str, extra: tuple[str, ...] = ()) -> None:
        """``engine_server.py`` in a container, with this machine's Python mounted read-only."""
        volumes = [item for path in ("/usr", sys.base_prefix, PROGRAMS) for item in ("--volume", f"{path}:{path}:ro")]
        program = [os.path.realpath(sys.executable), str(PROGRAMS / "engine_server.py"), str(port), name, *extra]
        self.cli("run", "--detach", "--name", name, "--network", "host", *volumes, *options, MACHINE, *program)

    def run_systemd(self, name: str) -> None:
        """systemd as process 1, with what a privileged container would have but for the rights this machine itself lacks."""
        options = [
            "--cap-add", "SYS_ADMIN", "--cap-add", "SYS_NICE", "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
            "--network", "host", "--cgroupns", "host", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw", "--volume", "/usr:/usr:ro",
            "--tmpfs", "/run", "--tmpfs", "/tmp", "--env", "container=docker",
        ]  # fmt: skip
        self.cli("run", "--detach", "--name", name, *options, MACHINE, "/lib/systemd/systemd", "--unit=basic.target")
        deadline = time.monotonic() + 30
        while not self._systemd_answers(name):
            if time.monotonic() > deadline:
                raise RuntimeError(f"systemd did not start: {self.cli('logs', name)}")
            time.sleep(0.1)

    def _systemd_answers(self, name: str) -> bool:
        try:
            return "running" in self.cli("exec", name, "systemctl", "is-system-running")
        except RuntimeError:
            return False

    def status(self, name: str) -> str:
        return str(json.loads(self.cli("inspect", name))[0]["State"]["Status"])

    def remove_all(self) -> None:
        names = self.cli("ps", "--all", "--quiet").split()
        if names:
            self.cli("rm", "--force", *names)


def _archive(entries: Mapping[str, Entry] | Mapping[str, bytes]) -> bytes:
    """A tar of programs, links and folders, all executable."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755
            if isinstance(content, bytes):
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
                continue
            entry.type = tarfile.DIRTYPE if content is None else tarfile.SYMTYPE
            entry.linkname = content or ""
            tar.addfile(entry)
    return buffer.getvalue()


@contextlib.contextmanager
def private_daemon(programs: Path | None = None, *, bridge: bool = False) -> Iterator[Daemon]:
    """``programs`` goes first on its PATH; ``bridge``: in a network namespace of its own. Started, with its images; gone with all it has made at the end."""
    if os.geteuid() != 0:
        pytest.skip("a Docker Engine of the tests' own needs root")
    # A socket's path may not be long, so it isn't put below pytest's own folders.
    folder = Path(tempfile.mkdtemp(prefix="tandem-docker-", dir="/tmp"))
    daemon = Daemon(folder, programs, bridge=bridge)
    try:
        daemon.start()
        daemon.make_images()
        yield daemon
        daemon.remove_all()
    finally:
        daemon.stop()
        for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
            place = line.split()[1]
            if place.startswith(f"{folder}/"):
                subprocess.run(["umount", place], check=False, capture_output=True)
        shutil.rmtree(folder)
