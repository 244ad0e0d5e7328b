# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the GPUs of a host are joined, from nvidia-smi's square tables. Pure.

``topo -m``: the link of each pair (NV#, PIX, PXB, PHB, NODE, SYS). ``topo -p2p r``: whether the driver lets a pair read each other's memory (OK, or why
not). Both underline their heads with escape codes. WSL2 may print neither, which is no link rather than a bad one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .._words.text import plain

#: From near to far; NVLink is nearest, whatever its count.
ORDER = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")
ROW = re.compile(r"\s*GPU(\d+)\s+(.*)")
#: A pair, the lower number first.
Pairs = Mapping[tuple[int, int], str]


def parse_square(table: str) -> dict[tuple[int, int], str]:
    """{(0, 1): "NV18"}; empty where there is no such table. Columns beyond the GPUs (NICs, affinity) are left out."""
    rows: dict[int, list[str]] = {}
    for line in table.splitlines():
        match = ROW.fullmatch(plain(line, 4000))
        if match and re.search(r"\bX\b", match[2]):
            rows[int(match[1])] = match[2].split()
    numbers = sorted(rows)
    return {
        (one, other): rows[one][index]
        for one in numbers
        for index, other in enumerate(numbers)
        if one < other and index < len(rows[one])
    }


def farthest_link(pairs: Pairs) -> str | None:
    """The link that a collective over all GPUs is bound by; None where none is known."""
    known = [(rank, link) for link in pairs.values() if (rank := _rank(link)) is not None]
    return max(known)[1] if known else None


def peer_access(pairs: Pairs) -> bool | None:
    """Whether every pair may read each other's memory; None where the driver doesn't say."""
    return all(state == "OK" for state in pairs.values()) if pairs else None


def drift(declared: Mapping[str, object], observed: Mapping[str, object]) -> list[str]:
    """Facts that the inventory's campaign_host_class says otherwise than the host; what the host doesn't tell is no drift."""
    return [
        f"campaign_host_class.{name} is {value!r}, the host says {observed[name]!r}"
        for name, value in sorted(declared.items())
        if observed.get(name) is not None and observed[name] != value
    ]


def _rank(link: str) -> int | None:
    return next(
        (rank for rank, name in enumerate(ORDER) if link == name or (name == "NV" and link.startswith("NV"))), None
    )


def names(pairs: Pairs, uuids: Iterable[str]) -> list[dict[str, str]]:
    """The pairs by UUID, for evidence: an index moves."""
    known = list(uuids)
    return [
        {"from": known[one], "to": known[other], "link": link}
        for (one, other), link in sorted(pairs.items())
        if other < len(known)
    ]
