# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When two lanes' figures may be set against each other, and what is said of the difference. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .compare_sides import HARDWARE, ComparedLane, Timed
from .shift import Ratio

Document = Mapping[str, Any]
#: Each prompt is within 0.5 % of its target; two lanes of one target can be twice that apart.
PROMPTS_APART = 0.01
#: Metric -> whether less of it is better.
LESS_IS_BETTER = {
    "first_output_s": True, "first_visible_s": True, "e2e_s": True, "prefill_tok_s": False, "decode_tok_s": False, "request_tok_s": False,
}  # fmt: skip
SIMULATED = "one of them is a rehearsal: its times are made up"


def never(before: ComparedLane, after: ComparedLane) -> str | None:
    """What not even a declared baseline bridges."""
    told = [bool(lane.identity.get("simulated")) for lane in (before, after)]
    return SIMULATED if told[0] != told[1] else None


def unlike(before: ComparedLane, after: ComparedLane, old: Timed, new: Timed) -> Iterator[str]:
    """Every reason why no faster or slower follows; each names both values."""
    one, two = old.document, new.document
    profile = one["profile"]
    yield from _differ("protocol", one["protocol"], two["protocol"])
    if one["protocol"] == two["protocol"]:
        hashes = ((lane.identity.get("protocols") or {}).get(one["protocol"]) for lane in (before, after))
        yield from _differ(f"text of {one['protocol']} (sha256)", *hashes)
    yield from _differ("visible budget (max_tokens)", one["requested"]["max_tokens"], two["requested"]["max_tokens"])
    yield from _differ("reasoning", before.profiles.get(profile), after.profiles.get(profile))
    yield from _differ("sampling", _plain_sampling(one), _plain_sampling(two))
    yield from _prompts(one, two)
    for name in (*HARDWARE, "endpoint"):
        yield from _differ(f"hardware ({name})", before.hardware.get(name), after.hardware.get(name))


def _differ(what: str, before: Any, after: Any) -> Iterator[str]:
    if before != after:
        yield f"{what}: {before} before, {after} after"


def _plain_sampling(document: Document) -> dict[str, Any]:
    """The switches of a chat template are the reasoning setting's, which is compared by itself."""
    return {name: value for name, value in document["sampling"].items() if name != "chat_template_kwargs"}


def _prompts(one: Document, two: Document) -> Iterator[str]:
    lengths = [document["metrics"]["prompt_tokens"]["p50"] for document in (one, two)]
    if None in lengths:
        yield f"prompt length: {lengths[0]} before, {lengths[1]} after; without both nothing can be said"
    elif abs(lengths[1] / lengths[0] - 1) > PROMPTS_APART:
        apart = abs(lengths[1] / lengths[0] - 1)
        yield f"prompt length: {lengths[0]:,.0f} tokens before, {lengths[1]:,.0f} after, {apart:.1%} apart ({PROMPTS_APART:.0%} is borne)"


def judged(tag: str, ratio: Ratio | None, threshold: float | None) -> tuple[str, str]:
    """(verdict, reason) of one figure: ``faster``, ``slower``, ``alike``, ``undecided`` or ``undeclared``."""
    if threshold is None:
        return "undeclared", "no threshold is declared for it"
    if ratio is None or ratio.low is None or ratio.high is None:
        return "undecided", "too few values for an interval"
    least, most = 1 / (1 + threshold), 1 + threshold
    told = f"the factor is {ratio.low:.3f} to {ratio.high:.3f}, {least:.3f} to {most:.3f} is alike"
    if least <= ratio.low and ratio.high <= most:
        return "alike", told
    if ratio.low > most or ratio.high < least:
        return ("slower" if (ratio.low > most) == LESS_IS_BETTER[tag] else "faster"), told
    return "undecided", f"{told}: the interval holds both"
