# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pictures of lanes share: names, medians, a line a lane, a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .figure import label

Document = Mapping[str, Any]
#: (recipe, its capacity document)
Found = Sequence[tuple[str, Document]]


def median(document: Document, tag: str) -> float | None:
    value: float | None = document["metrics"][tag]["p50"]
    return value


def series(name: str, document: Document) -> str:
    """A lane's name in pictures; what begins its generation at the first output of any kind says so."""
    kind = ", combined" if document["decode_label"] == "combined" else ""
    return f"{label(name)}, {label(document['profile'], 20)}{kind}"


def lanes_on_y(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def legend_above(figure: Any, columns: int = 4) -> None:
    """Above everything, where it covers nothing."""
    figure.legend(loc="outside upper left", ncols=columns)
