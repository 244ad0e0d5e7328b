# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures as SVG. The only file that imports matplotlib, and only when something is drawn: the import takes a second."""

from __future__ import annotations

import html
import importlib.util
import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..module_utils._words.text import plain
from .blocks import Chart

#: Colours by name, on white paper. A page replaces them by its own for the dark.
INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d1d9e0", "#ffffff"
SERIES = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#9a6700", "#cf222e", "#1b7c83", "#6e7781")
COLOURS = {INK: "ink", MUTED: "muted", GRID: "grid", **{colour: f"s{n}" for n, colour in enumerate(SERIES)}}
MARKERS = "os^Dvp*X"
STYLE: Any = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": MUTED, "axes.labelcolor": INK, "axes.titlecolor": INK, "axes.titlesize": 10, "text.color": INK, "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "grid.color": GRID, "grid.linewidth": 0.6, "legend.frameon": False, "legend.fontsize": 8,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip
#: matplotlib numbers its groups; nothing refers to them, and a page with several pictures would have them twice.
GROUP_ID = re.compile(r' id="[A-Za-z][A-Za-z0-9.]*_\d+"')
PROLOGUE = re.compile(r"<\?xml.*?<svg", re.DOTALL)
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
BACKGROUND = re.compile(r"(<svg[^>]*>)")
#: Coordinates have far more places than a screen has points.
COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
PLACES = re.compile(r"(\d\.\d)\d+")
SIZE = re.compile(r' (?:width|height)="[\d.]+pt"')
WIDTH = 7.6
#: Points of one line; a picture has no room for more.
MOST_POINTS = 400


def can_draw() -> bool:
    """Whether the plotting library is there. Without it a report says so and has its tables."""
    return importlib.util.find_spec("matplotlib") is not None


def drawn(name: str, title: str, says: str, height: float, draw: Callable[[Any], None]) -> Chart:
    """A picture of ``WIDTH`` × ``height`` inches; ``draw`` gets a matplotlib Figure. The same data give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return Chart(name, title, says, _lean(stream.getvalue()))


def _lean(svg: str) -> str:
    """Without what only other programs read."""
    svg = METADATA.sub("", PROLOGUE.sub("<svg", svg, count=1), count=1)
    return COORDINATES.sub(lambda found: PLACES.sub(r"\1", found[0]), GROUP_ID.sub("", svg))


def marked(chart: Chart, note: str) -> Chart:
    """The same picture with ``note`` across it, so that it can't be taken for a measurement where it stands alone."""
    text = f'<text x="50%" y="55%" text-anchor="middle" style="font: bold 40px sans-serif; fill: {INK}; opacity: 0.13">{html.escape(note)}</text>'
    return replace(chart, svg=chart.svg.replace("</svg>", f"{text}</svg>"), says=f"{note}: {chart.says}")


def as_file(svg: str) -> str:
    """For a viewer that knows nothing of pages: on white paper, whatever is around it."""
    return BACKGROUND.sub(rf'\1<rect width="100%" height="100%" fill="{PAPER}"/>', svg, count=1) + "\n"


def in_page(svg: str) -> str:
    """In the colours of the page around it, as wide as there is room."""
    for colour, name in COLOURS.items():
        svg = svg.replace(colour, f"var(--{name})")
    return SIZE.sub("", svg, count=2)


def colour_of(number: int) -> str:
    """Of series ``number``, counted from 0; they repeat, then with other markers."""
    return SERIES[number % len(SERIES)]


def marker_of(number: int) -> str:
    return MARKERS[number // len(SERIES) % len(MARKERS)]


def label(text: object, limit: int = 60) -> str:
    """Text from outside as it may stand in a picture."""
    return plain(str(text), limit)
