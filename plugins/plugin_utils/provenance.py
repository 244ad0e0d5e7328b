# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which collection this is: version from its own metadata, git revision where it is a checkout."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from .recipes import COLLECTION


def collection_version() -> str:
    """From MANIFEST.json where it is installed, else from galaxy.yml."""
    manifest = COLLECTION / "MANIFEST.json"
    if manifest.is_file():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    found = re.search(r"^version: (\S+)$", (COLLECTION / "galaxy.yml").read_text(encoding="utf-8"), re.M)
    return found[1] if found else "unknown"


def git_revision(folder: Path = COLLECTION) -> str | None:
    """HEAD's commit, with ``+changes`` where tracked files differ from it; None outside a checkout."""
    if not (folder / ".git").exists():
        return None
    try:
        head = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
        dirty = subprocess.run(
            ["git", "-C", str(folder), "diff", "--quiet", "HEAD"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + ("+changes" if dirty.returncode else "")


def collection_identity() -> dict[str, str | None]:
    """``{version, revision}`` for the identity block."""
    return {"version": collection_version(), "revision": git_revision()}
