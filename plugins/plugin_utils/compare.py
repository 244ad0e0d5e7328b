# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two packets against each other, as a document: gates, figures with intervals, what differs in between, and a verdict by declared thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..module_utils._words.documents import to_document
from .changes import changes
from .compare_rules import LESS_IS_BETTER, judged, never, unlike
from .compare_sides import ComparedLane, Side, Timed
from .shift import METHOD, ratio_of

SCHEMA = "tandem.comparison/v1"
#: What it all comes to is the first of these that occurs.
WORST_FIRST = ("regressed", "slower", "undecided", "faster", "alike", "undeclared", "side_by_side", "refused")
#: One value a lane, so a factor and no interval: where it stands in the document.
SINGLE = {
    "aggregate_output_tok_s": ("aggregate_output_tok_s",),
    "joules_per_output_token": ("energy", "joules_per_output_token"),
}
#: What a gate's change makes of the whole.
GATE_WORDS = {"worse": "regressed", "not shown again": "undecided"}
Document = Mapping[str, Any]


def compared(
    before: Side, after: Side, thresholds: Mapping[str, float], *, baseline: bool, lanes: Mapping[str, str]
) -> dict[str, Any]:
    """``lanes``: recipe before -> recipe after, for those of unlike names; all others are compared with their own name.

    ``baseline``: what is unlike stands side by side with named confounds, and nothing is called faster or slower.
    """
    pairs = {name: lanes.get(name, name) for name in before.lanes}
    rows = [
        _lane(before.lanes[old], after.lanes[new], thresholds, baseline=baseline)
        for old, new in pairs.items()
        if new in after.lanes
    ]
    verdicts = [lane["verdict"] for lane in rows]
    return {
        "schema": SCHEMA,
        "before": _side(before),
        "after": _side(after),
        "thresholds": dict(thresholds),
        "baseline": baseline,
        "method": METHOD,
        "verdict": next((word for word in WORST_FIRST if word in verdicts), "refused"),
        "lanes": rows,
        "only_before": [old for old, new in pairs.items() if new not in after.lanes],
        "only_after": [name for name in after.lanes if name not in pairs.values()],
    }


def _side(side: Side) -> dict[str, Any]:
    identity = side.verdict["identity"]
    return {
        "packet": side.name, "started_at": identity["started_at"], "simulated": side.verdict["simulated"], "outcome": side.verdict["outcome"],
        "collection": identity["collection"], "manifest_sha256": side.manifest_sha256, "signed_by": side.signed_by,
    }  # fmt: skip


def _lane(
    before: ComparedLane, after: ComparedLane, thresholds: Mapping[str, float], *, baseline: bool
) -> dict[str, Any]:
    refusal = never(before, after)
    gates = [] if refusal else list(_gates(before, after))
    timed = [] if refusal else list(_timed(before, after, thresholds, baseline=baseline))
    words = [*(GATE_WORDS.get(gate["change"]) for gate in gates), *(row["verdict"] for row in timed)]
    return {
        "before": before.result["recipe"],
        "after": after.result["recipe"],
        "outcomes": [before.result["outcome"], after.result["outcome"]],
        "refused": refusal,
        "verdict": next((word for word in WORST_FIRST if word in words), "refused" if refusal else "undeclared"),
        "gates": gates,
        "capacity": timed,
        "declared_baseline": (after.pins.get("recipe") or {}).get("baseline"),
        "changes": to_document(changes(before.pins, after.pins)),
    }


def _gates(before: ComparedLane, after: ComparedLane) -> Iterator[dict[str, Any]]:
    """Checks of gates that both have, by the same text of the protocol."""
    old, new = _checks(before), _checks(after)
    hashes = [lane.identity.get("protocols") or {} for lane in (before, after)]
    for key in old:
        if key not in new:
            continue
        protocol = key[1]
        one, two = old[key], new[key]
        alike = hashes[0].get(protocol) == hashes[1].get(protocol)
        yield {
            "profile": key[0], "protocol": protocol, "check": key[2], "before": one, "after": two,
            "change": change_of(one, two) if alike else "not compared: the protocol's text differs",
        }  # fmt: skip


def change_of(before: str, after: str) -> str:
    """Same, better, worse; what is inconclusive or wasn't run now is no defect that was shown, and neither is it a pass."""
    if before == after:
        return "same"
    if "passed" not in (before, after):
        return "other"
    return "better" if after == "passed" else "worse" if after == "failed" else "not shown again"


def _checks(lane: ComparedLane) -> dict[tuple[str, str, str], str]:
    """(profile, protocol, check) -> verdict of everything required; a gate without checks stands for itself."""
    return {
        (profile["name"], gate["protocol"], name): verdict
        for profile in lane.result["profiles"]
        for gate in profile["gates"]
        if gate["required"]
        for name, verdict in [("", gate["verdict"]), *_required(gate)]
    }


def _required(gate: Document) -> list[tuple[str, str]]:
    return [(check["name"], check["verdict"]) for check in gate["checks"] if check["level"] == "required"]


def _timed(
    before: ComparedLane, after: ComparedLane, thresholds: Mapping[str, float], *, baseline: bool
) -> Iterator[dict[str, Any]]:
    for (profile, tokens), old in before.timed.items():
        new = after.timed.get((profile, tokens))
        if new is None:
            continue
        gaps = [f"{name} has no figures, {timed.gap}" for name, timed in (("before", old), ("after", new)) if timed.gap]
        reasons = [*gaps, *([] if gaps else unlike(before, after, old, new))]
        beside = baseline and not gaps
        figures = list(_figures(old, new, {} if beside else thresholds)) if beside or not reasons else []
        words = [figure["verdict"] for figure in figures]
        word = "side_by_side" if beside else next((word for word in WORST_FIRST if word in words), "refused")
        yield {
            "profile": profile, "context_tokens": tokens, "protocols": [old.document["protocol"], new.document["protocol"]],
            "verdict": word, "refused": [] if beside else reasons, "confounds": reasons if beside else [], "figures": figures,
            "single": list(_single(old.document, new.document)) if figures else [],
        }  # fmt: skip


def _figures(old: Timed, new: Timed, thresholds: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    for tag in LESS_IS_BETTER:
        one, two = (timed.document["metrics"][tag] for timed in (old, new))
        if one["p50"] is None or two["p50"] is None:
            continue
        ratio = ratio_of(old.samples[tag], new.samples[tag])
        verdict, reason = judged(tag, ratio, thresholds.get(tag))
        yield {
            "tag": tag, "unit": one["unit"], "before": {"p50": one["p50"], "n": one["n"]}, "after": {"p50": two["p50"], "n": two["n"]},
            "ratio": to_document(ratio), "threshold": thresholds.get(tag), "verdict": verdict, "reason": reason,
        }  # fmt: skip


def _single(old: Document, new: Document) -> Iterator[dict[str, Any]]:
    for tag, path in SINGLE.items():
        one, two = (_at(document, path) for document in (old, new))
        if one and two:
            yield {"tag": tag, "before": one, "after": two, "factor": two / one}


def _at(document: Document, path: tuple[str, ...]) -> float | None:
    """Energy that isn't valid is no figure."""
    if path[0] == "energy" and not document["energy"]["valid"]:
        return None
    value: Any = document
    for name in path:
        value = value[name]
    return None if value is None else float(value)
