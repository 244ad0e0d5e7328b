# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A patch set: what makes a derived image from a pinned base. The shape of ``playbooks/recipes/patches/<name>.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from .strict import FORBID_EXTRA

PATCH_SCHEMA = "tandem.patch-set/v1"
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Edit:
    """One replacement; ``find`` has to stand in the file exactly once."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    find: str
    replace: str


@dataclass(frozen=True)
class Patch:
    """Edits of one file that is guarded by its sha256, or one wheel that is pinned by its own.

    ``file`` is below exactly one of the set's ``roots``. ``gate`` says when the change takes effect, ``reason`` why it is needed, ``ticket``
    where that is written down. ``after`` is the edited file's sha256, where it was proven.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    sha256: str
    gate: str
    reason: str
    ticket: str
    file: str | None = None
    edit: tuple[Edit, ...] = ()
    after: str | None = None
    wheel: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        if not SHA256.fullmatch(self.sha256):
            raise ValueError(f"sha256 {self.sha256!r} is not 64 hex digits in lower case")
        if bool(self.file and self.edit) == bool(self.wheel and self.url) or bool(self.file) == bool(self.wheel):
            raise ValueError("a patch is either file with edit, or wheel with url")
        if self.file and (self.file.startswith("/") or ".." in self.file.split("/")):
            raise ValueError(f"file {self.file!r} has to be a path below one of the roots")


@dataclass(frozen=True)
class PatchSet:
    """Ordered patches. ``roots`` are the folders inside the image where the engine's packages may lie; ``unproven`` says what couldn't be tried."""

    __pydantic_config__: ClassVar[dict[str, Any]] = FORBID_EXTRA
    schema: str
    name: str
    roots: tuple[str, ...]
    patch: tuple[Patch, ...]
    proven: str | None = None
    unproven: str | None = None

    def __post_init__(self) -> None:
        if self.schema != PATCH_SCHEMA:
            raise ValueError(f"schema is {self.schema!r}, this version reads {PATCH_SCHEMA!r}")
        if not self.roots or not all(root.startswith("/") for root in self.roots):
            raise ValueError("roots are absolute folders inside the image")
        if bool(self.proven) == bool(self.unproven):
            raise ValueError(
                "say either what the guards were proven against (proven), or why they could not be (unproven)"
            )
