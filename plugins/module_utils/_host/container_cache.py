# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The weights' cache as a container of ours sees it. Pure."""

from __future__ import annotations

from .._words.host import Cache
from .._words.plan import Mount

#: Where the engine sees the hub, or the volume that it lies in.
HUB_TARGET, VOLUME_TARGET = "/hf/hub", "/hf/volume"
#: Given back to the container's own root: a cache that only its owner can read. Everything else in Docker's default set is dropped.
CAPABILITIES = ("DAC_OVERRIDE",)


def container_hub(cache: Cache) -> str:
    """The hub as the engine sees it."""
    return f"{VOLUME_TARGET}/{cache.hub}" if cache.hub else HUB_TARGET


def cache_mount(cache: Cache) -> Mount:
    """Read-only, by path or by volume."""
    target = VOLUME_TARGET if cache.hub else HUB_TARGET
    return Mount(cache.path or cache.volume or "", target, read_only=True, kind="bind" if cache.path else "volume")
