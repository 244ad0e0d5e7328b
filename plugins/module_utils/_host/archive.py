# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files as the tar archive that a Docker Engine unpacks into a container."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Mapping


def packed(files: Mapping[str, bytes]) -> bytes:
    """Path -> content. Owned by root, readable by all, dated now: Python takes its stored bytecode for stale then."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(data), 0o644, int(time.time())
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
