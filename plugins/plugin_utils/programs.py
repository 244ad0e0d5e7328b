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
KEEPER_FOLDERS = ("_words", "_host", "_api", "_evidence", "_engine", "_probe", "_mode", "_state", "_gates")
PACKET_FOLDERS = ("_words", "_host", "_api", "_evidence", "_engine", "_gates", "_state", "_packet")
VERIFIER_FOLDERS = ("_words", "_cache")
#: Shells that the keeper's program has beside its own.
KEEPER_SHELLS = (
    "keeper_main.py",
    "watch_main.py",
    "hand_main.py",
    "mode_main.py",
    "engine_main.py",
    "gate_main.py",
    "state_main.py",
)
#: The ranks of the collective's probe, which run in the engine's own Python.
RANKS = "_probe/ranks.py"
LAUNCHERS = {"llama_cpp": "_engine/llama_cpp_server.py"}
#: Plain HTTP on loopback is all it speaks; http.client would spend 15 ms of each start on TLS.
ENTRY = """import sys

sys.modules["ssl"] = None

from tandem_campaign.{shell} import main

sys.exit(main())
"""
NOTICE = b"""# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""
#: A fixed time, so that the same sources give the same bytes.
EPOCH = (2026, 1, 1, 0, 0, 0)


@cache
def keeper_sources() -> dict[str, bytes]:
    """Archive name -> content: module_utils as the package ``tandem_campaign``, and what runs it."""
    return _sources("keeper_main", KEEPER_FOLDERS, KEEPER_SHELLS)


def _sources(shell: str, folders: tuple[str, ...], shells: tuple[str, ...]) -> dict[str, bytes]:
    # A zip file has no folders of its own, so each package needs its __init__.
    packages = ("tandem_campaign", *(f"tandem_campaign/{folder}" for folder in folders))
    files = {
        "__main__.py": ENTRY.format(shell=shell).encode(),
        **{f"{package}/__init__.py": b"" for package in packages},
        "tandem_campaign/__init__.py": NOTICE,
    }
    paths = [
        *(MODULE_UTILS / name for name in shells),
        *(file for folder in folders for file in (MODULE_UTILS / folder).glob("*.py")),
    ]
    return files | {f"tandem_campaign/{path.relative_to(MODULE_UTILS)}": _without_notice(path) for path in paths}


def _without_notice(path: Path) -> bytes:
    """A module whose notice stands once, in the package's own file: a fourteenth of the program less, with the same line numbers."""
    notice, text = NOTICE, path.read_bytes()
    return text.replace(notice, b"\n" * notice.count(b"\n"), 1) if text.startswith(notice) else text


def keeper_program() -> bytes:
    """``keeper.pyz``, which runs on the standard library of Python 3.10 or newer. The same sources give the same bytes."""
    return _program(keeper_sources())


def _program(sources: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(sources.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    return b"#!/usr/bin/env python3\n" + buffer.getvalue()


@cache
def verifier_program() -> bytes:
    """The snapshot proof for a container that reads a volume."""
    return _program(_sources("verify_main", VERIFIER_FOLDERS, ("verify_main.py",)))


@cache
def packet_check_program() -> bytes:
    """``packet_check.pyz``: a packet checked with nothing but Python 3.10 or newer."""
    return _program(_sources("packet_main", PACKET_FOLDERS, ("packet_main.py",)))


def verifier_path(state_dir: str) -> str:
    return f"{state_dir}/programs/verify-{_mark(verifier_program())}.pyz"


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


def ranks_program() -> bytes:
    """The source of the probe's ranks."""
    return (MODULE_UTILS / RANKS).read_bytes()


def ranks_path(state_dir: str) -> str:
    return f"{state_dir}/programs/ranks-{_mark(ranks_program())}.py"


def launchers(state_dir: str) -> dict[str, str]:
    """Engine kind -> launcher's path, for the launch plan."""
    return {kind: launcher_path(kind, state_dir) for kind in LAUNCHERS}


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
