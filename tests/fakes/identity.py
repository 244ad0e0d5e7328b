"""Identity blocks for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._words.identity import Identity

#: The fields that may be null with a reason.
NAMES = tuple(field.name for field in dataclasses.fields(Identity) if field.default is None)


def identity(**known: Any) -> Identity:
    """Of campaign ``c`` on host ``h``; everything that isn't given is unknown, with a reason."""
    unknown = dict.fromkeys((name for name in NAMES if name not in known), "not yet")
    return Identity(
        "c", "h", "2026-01-01T00:00:00.000Z", {"version": "0.1.0", "revision": None}, False, unknown=unknown, **known
    )
