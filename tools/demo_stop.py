"""Stops the demo host's two services: the processes that were started in its folder."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def services_of(folder: Path) -> list[int]:
    """Processes whose working folder is the demo's and that are its model server or its router."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            inside = (entry / "cwd").resolve() == folder.resolve()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if inside and (b"llama_cpp_server.py" in command or command.startswith(b"sglang::router")):
            found.append(int(entry.name))
    return found


if __name__ == "__main__":
    for pid in services_of(Path(sys.argv[1])):
        os.kill(pid, signal.SIGTERM)
        print(f"stopped {pid}")
