# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an artifact looks: schema, identity, content. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from .._words.documents import to_document
from .._words.identity import Identity

SCHEMA = re.compile(r"tandem\.[a-z-]+/v[0-9]+")


def artifact(name: str, identity: Identity, content: Any) -> dict[str, Any]:
    """``{schema: "tandem.<name>/v1", identity: {…}, …content}``. ``content`` is a mapping or a dataclass."""
    schema = f"tandem.{name}/v1"
    if not SCHEMA.fullmatch(schema):
        raise ValueError(f"{schema!r} is no schema name")
    return {"schema": schema, "identity": to_document(identity), **to_document(content)}


def utc(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds, from a Unix time."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def stamp(seconds: float) -> str:
    """A UTC time that sorts and can stand in a file's name."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z"
