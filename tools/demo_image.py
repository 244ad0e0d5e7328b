"""Makes the image of the demo's engine: Debian's Python, the engine's wheel, our launcher; one archive that Docker imports.

Nothing is pulled: debootstrap brings the base from Debian's archive, pip the wheel. Made once and kept, as it takes a minute:
``python tools/demo_image.py .demo/docker/engine.tar``
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "playbooks" / "recipes" / "locks" / "xllamacpp.txt"
SERVER = ROOT / "plugins" / "module_utils" / "_engine" / "llama_cpp_server.py"
SUITE = "bookworm"
#: bookworm's Python, for which the wheel is chosen.
PYTHON = "3.11"
LAUNCHER = """#!/usr/bin/python3
import runpy
import sys

sys.path.insert(0, "/opt/tandem/site-packages")
runpy.run_path("/opt/tandem/llama_cpp_server.py", run_name="__main__")
"""
#: Weighs a hundred megabytes and serves nobody inside an image.
LEFT_OUT = (
    "var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "debootstrap", "var/log",
)  # fmt: skip


def make_archive(target: Path) -> None:
    """Where one of these very sources is there already, nothing is done."""
    mark = target.with_suffix(".sha256")
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in (LOCK, SERVER, Path(__file__)))).hexdigest()
    if target.is_file() and mark.is_file() and mark.read_text(encoding="ascii") == sources:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        root = Path(scratch) / "root"
        run("debootstrap", "--variant=minbase", "--include=python3,libgomp1", SUITE, str(root))
        place = root / "opt" / "tandem"
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--quiet",
            "--disable-pip-version-check",
            "install",
            "--no-deps",
            "--only-binary=:all:",
        ]
        run(*pip, "--python-version", PYTHON, "--target", str(place / "site-packages"), "-r", str(LOCK))
        shutil.copy(SERVER, place / "llama_cpp_server.py")
        launcher = place / "llama-cpp-server"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        launcher.chmod(0o755)
        excluded = [f"--exclude=./{path}/*" for path in LEFT_OUT]
        run("tar", "--numeric-owner", *excluded, "-C", str(root), "-cf", f"{target}.new", ".")
    Path(f"{target}.new").replace(target)
    mark.write_text(sources, encoding="ascii")


def run(*command: str) -> None:
    """Its output is shown where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])}… ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    make_archive(parser.parse_args().target)
