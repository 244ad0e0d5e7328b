# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each file's content is compared with: its blob's name, the hub's own listing, the recipe's manifest. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from .layout import SnapshotFile
from .problem import Problem
from .tree import Listed
from .wanted import Wanted

WEIGHTS = (".safetensors", ".gguf")
SHOWN = 3
#: {algorithm: hex digest}, algorithms being sha256 and git-sha1.
Digests = Mapping[str, str]


def expected_digests(file: SnapshotFile, tree: Mapping[str, Listed], wanted: Wanted) -> dict[str, str]:
    """Where the sources name the same algorithm the manifest wins over the blob's name, and that over the listing: it is the owner's word."""
    listed = tree.get(file.name)
    found = {listed.algorithm: listed.digest} if listed else {}
    found |= {file.algorithm: file.expected} if file.algorithm and file.expected else {}
    return found | ({"sha256": wanted.sha256[file.name]} if file.name in wanted.sha256 else {})


def named_digest(expected: Digests, digests: Digests) -> str:
    """The digest that evidence shows: what was compared, else what was found, else that nothing was read."""
    return expected.get("sha256") or expected.get("git-sha1") or digests.get("sha256") or "not read"


def differences(expected: Mapping[str, Digests], digests: Mapping[str, Digests]) -> list[Problem]:
    """Files whose content is not what it has to be."""
    return [
        Problem(name, f"{algorithm} {digest}", f"{algorithm} {digests[name].get(algorithm, 'unknown')}")
        for name, wanted in expected.items()
        for algorithm, digest in wanted.items()
        if digests[name].get(algorithm) != digest
    ]


def uncompared(expected: Mapping[str, Digests], wanted: Wanted) -> list[str]:
    """A cache without links: with a manifest of the weights no caveat, else one sentence."""
    without = sorted(name for name, digests in expected.items() if not digests)
    if not without or (wanted.sha256 and not any(name.endswith(WEIGHTS) for name in without)):
        return []
    names = ", ".join(without[:SHOWN]) + ("…" if len(without) > SHOWN else "")
    return [
        f"content of {len(without)} of {len(expected)} files could not be compared with anything ({names}): they are no links to blobs "
        "named by their hash. Sizes and headers were checked; model.sha256 in the recipe can name their hashes"
    ]
