"""A real registry on loopback (Debian's docker-registry), so that images have repository digests."""

from __future__ import annotations

import contextlib
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import identity_of, stop
from ansible_collections.tandem.campaign.tests.fakes.bench import free_port

CONFIG = """version: 0.1
log: {{level: error}}
storage:
  filesystem: {{rootdirectory: {folder}/storage}}
http:
  addr: 127.0.0.1:{port}
"""


@contextlib.contextmanager
def running_registry(folder: Path) -> Iterator[str]:
    """Yields ``127.0.0.1:port``, which any Docker Engine takes without TLS."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "registry.yml"
    config.write_text(CONFIG.format(folder=folder, port=port))
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(config)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    identity = identity_of(process.pid)
    try:
        _wait(f"http://127.0.0.1:{port}/v2/", process, folder / "registry.log")
        yield f"127.0.0.1:{port}"
    finally:
        if identity is not None:
            stop(identity, 5.0)
        process.wait(10)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the registry did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.05)
