# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that are put on a host: the keeper as one zip file, and the launchers of process engines. Named by their content."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path

MODULE_UTILS = Path(__file__).resolve().parents[1] / "module_utils"
KEEPER_FOLDERS = ("_words", "_host", "_api", "_evidence", "_engine", "_mode", "_state")
LAUNCHERS = {"llama_cpp": "_engine/llama_cpp_server.py"}
#: Plain HTTP on loopback is all it speaks; http.client would spend 15 ms of each start on TLS.
ENTRY = b"""import sys

sys.modules["ssl"] = None

from tandem_campaign.keeper_main import main

sys.exit(main())
"""
#: A fixed time, so that the same sources give the same bytes.
EPOCH = (2026, 1, 1, 0, 0, 0)


@cache
def keeper_sources() -> dict[str, bytes]:
    """Archive name -> content: module_utils as the package ``tandem_campaign``, and what runs it."""
    # A zip file has no folders of its own, so each package needs its __init__.
    packages = ("tandem_campaign", *(f"tandem_campaign/{folder}" for folder in KEEPER_FOLDERS))
    files = {"__main__.py": ENTRY, **{f"{package}/__init__.py": b"" for package in packages}}
    paths = [
        *MODULE_UTILS.glob("*_main.py"),
        *(file for folder in KEEPER_FOLDERS for file in (MODULE_UTILS / folder).glob("*.py")),
    ]
    return files | {f"tandem_campaign/{path.relative_to(MODULE_UTILS)}": path.read_bytes() for path in paths}


def keeper_program() -> bytes:
    """``keeper.pyz``, which runs on the standard library of Python 3.10 or newer. The same sources give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(keeper_sources().items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return b"#!/usr/bin/env python3\n" + buffer.getvalue()


def keeper_path(state_dir: str) -> str:
    """This version's keeper, unpacked, so that Python keeps its bytecode: 100 ms less a start. ``<path>.pyz`` is the same as one file."""
    sources = b"".join(name.encode() + content for name, content in sorted(keeper_sources().items()))
    return f"{state_dir}/programs/keeper-{_mark(sources)}"


def launcher_program(kind: str) -> bytes:
    """The source of an engine's launcher."""
    return (MODULE_UTILS / LAUNCHERS[kind]).read_bytes()


def launcher_path(kind: str, state_dir: str) -> str:
    """Where an engine's launcher lies on the host."""
    return f"{state_dir}/programs/{Path(LAUNCHERS[kind]).stem}-{_mark(launcher_program(kind))}.py"


def launchers(state_dir: str) -> dict[str, str]:
    """Engine kind -> launcher's path, for the launch plan."""
    return {kind: launcher_path(kind, state_dir) for kind in LAUNCHERS}


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
