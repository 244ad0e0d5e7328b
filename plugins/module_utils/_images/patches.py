# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies a patch to a file's bytes, or unpacks a wheel: guarded, exact, and compiled before it counts. Pure."""

from __future__ import annotations

import hashlib
import io
import zipfile

from .._words.errors import RefusedError
from .._words.patch import Patch

MANIFEST = "/opt/tandem-campaign/patch-manifest.json"


def patched(patch: Patch, path: str, data: bytes) -> bytes:
    """The edited file. Raises :class:`RefusedError` that names it where the guard does not hold or the result is no Python."""
    found = hashlib.sha256(data).hexdigest()
    if found != patch.sha256:
        raise RefusedError(
            f"{path}: its sha256 is {found}, the patch was written for {patch.sha256}; it is not applied to another file",
            file=path,
        )
    text = data.decode("utf-8")
    for edit in patch.edit:
        count = text.count(edit.find)
        if count != 1:
            raise RefusedError(
                f"{path}: the text to replace stands there {count} times, once is needed: {edit.find.strip()[:80]!r}",
                file=path,
            )
        text = text.replace(edit.find, edit.replace)
    if path.endswith(".py"):
        try:
            compile(text, path, "exec", dont_inherit=True)
        except SyntaxError as exc:
            raise RefusedError(f"{path}: the edited file does not compile: {exc}", file=path) from exc
    result = text.encode()
    digest = hashlib.sha256(result).hexdigest()
    if patch.after and digest != patch.after:
        raise RefusedError(f"{path}: the edited file's sha256 is {digest}, {patch.after} was proven", file=path)
    return result


def wheel_files(patch: Patch, data: bytes, root: str) -> dict[str, bytes]:
    """A pure wheel's files as they lie below ``root`` (https://packaging.python.org/specifications/binary-distribution-format/)."""
    found = hashlib.sha256(data).hexdigest()
    if found != patch.sha256:
        raise RefusedError(
            f"{patch.wheel}: the wheel's sha256 is {found}, the patch set pins {patch.sha256}", file=patch.wheel
        )
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        bad = [name for name in names if name.startswith("/") or ".." in name.split("/") or ".data/" in name]
        if bad:
            raise RefusedError(
                f"{patch.wheel}: {bad[0]} can't be unpacked as it is; only pure wheels are added", file=patch.wheel
            )
        return {f"{root}/{name}": archive.read(name) for name in names}
