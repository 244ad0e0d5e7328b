# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison for people: what it comes to first, then the picture, figures, gates, and what differs in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .blocks import Block, Bullets, Chart, Heading, TableBlock, Text
from .chart_factors import factors_chart
from .figure import can_draw, marked
from .outcome_table import SIMULATED

Document = Mapping[str, Any]
FIGURES = (
    "lane", "profile", "context", "figure", "verdict", "before p50", "after p50", "n", "factor", "95 % interval", "alike within",
)  # fmt: skip
SINGLE = ("lane", "profile", "context", "figure", "before", "after", "factor")
GATES = ("lane", "profile", "protocol", "check", "before", "after", "change")
CHANGES = ("lane", "what", "before", "after")
LIMITS = (
    "The interval is over the requests of these two loads. It does not hold what differs from one load of the same recipe to the next "
    "(clocks, compilation, what else the host did): declare thresholds wider than that, or compare several campaigns."
)
TOLD = {
    "regressed": "a required check that passed before does not pass now",
    "slower": "at least one figure is slower by more than its threshold",
    "undecided": "at least one figure can't be told from its threshold with so many requests, or a gate that passed before was not shown to pass again",
    "faster": "at least one figure is faster by more than its threshold, and none is slower",
    "alike": "every figure with a threshold is alike",
    "undeclared": "differences without a verdict: compare_thresholds declares what counts as alike",
    "side_by_side": "side by side, with what makes them unlike: no faster or slower follows",
    "refused": "nothing here may be set against each other; the reasons stand below",
}


def comparison_blocks(document: Document) -> Iterator[Block]:
    """The whole finding."""
    yield Heading(f"{document['before']['packet']} against {document['after']['packet']}", 1)
    yield Text(TOLD[document["verdict"]], document["verdict"].replace("_", " "))
    if document["before"]["simulated"] or document["after"]["simulated"]:
        yield Text("", SIMULATED, "")
    yield TableBlock.of(("", "before", "after"), list(_sides(document)))
    yield from _charts(document)
    yield Heading("Figures")
    yield from _figures(document)
    yield Heading("Gates")
    yield from _gates(document)
    yield Heading("What differs in between")
    rows = [
        (lane["after"], item["place"], item["before"] or "-", item["after"] or "-")
        for lane in document["lanes"]
        for item in lane["changes"]
    ]
    yield TableBlock.of(CHANGES, rows) if rows else Text("Nothing in recipe, contract, host, build or protocols.")
    yield from _left(document)


def _sides(document: Document) -> Iterator[tuple[str, str, str]]:
    for name in ("packet", "started_at", "outcome", "manifest_sha256", "signed_by"):
        before, after = (str(document[side][name] or "-") for side in ("before", "after"))
        yield name.replace("_", " "), before, after


def rows_of(document: Document) -> list[tuple[str, Document, Document]]:
    """(lane, its timed context, a figure) of everything that stands against each other."""
    return [
        (lane["after"], timed, figure)
        for lane in document["lanes"]
        for timed in lane["capacity"]
        for figure in timed["figures"]
    ]


def _charts(document: Document) -> Iterator[Chart]:
    if can_draw():
        simulated = document["before"]["simulated"] or document["after"]["simulated"]
        rows = [
            (f"{lane}, {timed['profile']}, {timed['context_tokens']:,}", figure)
            for lane, timed, figure in rows_of(document)
        ]
        for chart in factors_chart(rows):
            yield marked(chart, "simulated") if simulated else chart


def _figures(document: Document) -> Iterator[Block]:
    rows = [figure_row(*row) for row in rows_of(document)]
    if rows:
        yield TableBlock.of(FIGURES, rows)
        yield Text(f"Factor is after over before: {document['method']}. {LIMITS}")
    single = [
        (
            lane["after"],
            timed["profile"],
            f"{timed['context_tokens']:,}",
            row["tag"],
            f"{row['before']:.4g}",
            f"{row['after']:.4g}",
            f"{row['factor']:.3f}",
        )
        for lane in document["lanes"]
        for timed in lane["capacity"]
        for row in timed["single"]
    ]
    if single:
        yield Text("One value a lane, so no interval and no verdict:")
        yield TableBlock.of(SINGLE, single)
    refused = list(_refusals(document))
    if refused:
        yield Text("Not set against each other:")
        yield Bullets(tuple(refused))
    beside = [
        (
            f"{lane['after']}, {timed['profile']}, {timed['context_tokens']:,}",
            "; ".join(timed["confounds"]) or "nothing that is known",
        )
        for lane in document["lanes"]
        for timed in lane["capacity"]
        if timed["verdict"] == "side_by_side"
    ]
    if beside:
        yield Text("Side by side only; what makes them unlike:")
        yield Bullets(tuple(beside))
    if not rows and not refused:
        yield Text("No context was timed in both.")
    words = [(lane["after"], lane["declared_baseline"]) for lane in document["lanes"] if lane["declared_baseline"]]
    if words:
        yield Text("Baselines that the recipes declare:")
        yield Bullets(tuple(words))


def _refusals(document: Document) -> Iterator[tuple[str, str]]:
    for lane in document["lanes"]:
        if lane["refused"]:
            yield lane["after"], lane["refused"]
        for timed in lane["capacity"]:
            if timed["refused"]:
                yield f"{lane['after']}, {timed['profile']}, {timed['context_tokens']:,}", "; ".join(timed["refused"])


def figure_row(lane: str, timed: Document, figure: Document) -> tuple[str, ...]:
    """One figure as it is printed."""
    ratio, threshold = figure["ratio"], figure["threshold"]
    bounded = ratio and ratio["low"] is not None
    return (
        lane, timed["profile"], f"{timed['context_tokens']:,}", figure["tag"], figure["verdict"], f"{number(figure['before']['p50'])} {figure['unit']}",
        f"{number(figure['after']['p50'])} {figure['unit']}", f"{figure['before']['n']}, {figure['after']['n']}",
        f"{ratio['estimate']:.3f}" if ratio else "-", f"{ratio['low']:.3f} to {ratio['high']:.3f}" if bounded else "-",
        "-" if threshold is None else f"{threshold:.1%}",
    )  # fmt: skip


def number(value: float) -> str:
    """Four places that say something."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _gates(document: Document) -> Iterator[Block]:
    rows = [
        (
            lane["after"],
            gate["profile"],
            gate["protocol"],
            gate["check"] or "the gate",
            gate["before"],
            gate["after"],
            gate["change"],
        )
        for lane in document["lanes"]
        for gate in lane["gates"]
    ]
    other = [row for row in rows if row[-1] != "same"]
    yield Text(f"{len(rows) - len(other)} of {len(rows)} required gates and checks came out as before.")
    if other:
        yield TableBlock.of(GATES, other)


def _left(document: Document) -> Iterator[Block]:
    for side in ("before", "after"):
        if document[f"only_{side}"]:
            yield Text(", ".join(document[f"only_{side}"]), f"Lanes only {side}")
