# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a snapshot has to be: the pinned revision of a repository, and what the recipe needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wanted:
    """``file``: the weights of a GGUF repository. ``sha256``: a manifest, file -> hex digest, for caches whose files have no hash names.

    ``required_files`` must be in this very snapshot; ``remote_code``: the engine will run the repository's Python files.
    """

    repo: str
    revision: str
    file: str | None = None
    required_files: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    remote_code: bool = False

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Wanted:
        """From an element of ``snapshots``; keys that say nothing of the proof are left out."""
        return cls(
            str(request["repo"]),
            str(request["revision"]),
            request.get("file"),
            tuple(request.get("required_files") or ()),
            dict(request.get("sha256") or {}),
            bool(request.get("remote_code")),
        )

    @property
    def gguf(self) -> bool:
        return bool(self.file and self.file.endswith(".gguf"))
