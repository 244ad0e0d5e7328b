# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report's figures: capacity lanes with n, budget and intervals, what had to be left out of them, and bursts, apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from .blocks import Block, Bullets, Heading, TableBlock, Text

Document = Mapping[str, Any]
CAPACITY_HEADER = (
    "lane", "profile", "protocol", "completed", "budget", "prompt p50", "first output p50", "first visible p50", "prefill p50", "decode p50",
    "aggregate", "n",
)  # fmt: skip
ENERGY_HEADER = ("lane", "profile", "context", "energy", "mean power", "hottest", "throttled by", "rests on")
CERTAINTY_HEADER = ("lane", "profile", "prompt", "n", "first output p50", "first output p95", "decode p50")
BURST_HEADER = (
    "lane", "profile", "verdict", "together", "answered", "alone", "first output min", "p50", "max", "slowdown", "generating at once", "waiting",
)  # fmt: skip
DEFINITIONS = (
    "First output is the first non-empty reasoning, content or tool delta, first visible the first non-empty content, both from the request's first "
    'byte on; AIPerf\'s "TTFO" and GuideLLM\'s "TTFOT" are what is first visible here. Percentiles are nearest-rank over the successful measured '
    "requests (n); warm-ups are kept as rows and left out. The budget is the most tokens that an answer may have. Prefill holds queueing and the first "
    "token's own work. Aggregate is completion tokens over the lane's wall clock."
)
INTERVALS = (
    "In brackets: where the quantile of all such requests lies with 95 % confidence, by order statistics: "
    "from n of 6 on for a median; p95 needs n of 20."
)
BURSTS = (
    "A diagnostic of queueing, and no capacity figure: one request alone, then several at one moment. Slowdown is the median first output of those "
    "together over that of the one alone; waiting is the engine's own count, where it has one."
)


def capacity_section(packet: Path, lanes: Sequence[Document]) -> list[Block]:
    """Tables by what may be compared, how sure their figures are, and what was left out of them."""
    gaps = gaps_of(lanes)
    found = timed_documents(packet, lanes)
    untimed = [("", f"{name}, {profile}: no figures, {reason}.") for (name, profile), reason in gaps.items()]
    if not found:
        return [Text("No lane was timed."), *([Bullets(tuple(untimed))] if untimed else [])]
    notes = untimed + [
        ("", f"{name}, {document['profile']}: {text}") for name, document in found for text in _notes(document)
    ]
    return [
        *capacity_tables(found),
        Text(DEFINITIONS),
        TableBlock.of(CERTAINTY_HEADER, [certainty_row(*one) for one in found]),
        Text(INTERVALS),
        *_energy(found),
        *([Bullets(tuple(notes))] if notes else []),
    ]


def gaps_of(lanes: Sequence[Document]) -> dict[tuple[str, str], str]:
    """(recipe, profile) -> why it has no capacity result."""
    return {(lane["recipe"], profile): reason for lane in lanes for profile, reason in _withheld(lane)}


def timed_documents(packet: Path, lanes: Sequence[Document]) -> list[tuple[str, dict[str, Any]]]:
    """(recipe, document) of every capacity lane whose figures may be shown."""
    gaps = gaps_of(lanes)
    return [one for one in capacity_documents(packet, lanes) if (one[0], one[1]["profile"]) not in gaps]


def capacity_tables(found: Sequence[tuple[str, Document]]) -> Iterator[Block]:
    """The matched baseline, a protocol after another, and the longer contexts apart: unlike rows don't stand in one column."""
    baseline, longer = by_context(found)
    for protocol in dict.fromkeys(document["protocol"] for _name, document in baseline):
        yield TableBlock.of(CAPACITY_HEADER, [capacity_row(*one) for one in baseline if one[1]["protocol"] == protocol])
    if longer:
        yield Text("Longer contexts, each within its own served profile:")
        yield TableBlock.of(CAPACITY_HEADER, [capacity_row(*one) for one in longer])


def by_context(found: Sequence[tuple[str, Document]]) -> tuple[list[tuple[str, Document]], list[tuple[str, Document]]]:
    """(each profile's shortest context, all longer ones)."""
    shortest: dict[tuple[str, str], int] = {}
    for name, document in found:
        key, tokens = (name, document["profile"]), document["requested"]["context_tokens"]
        shortest[key] = min(tokens, shortest.get(key, tokens))
    baseline = [one for one in found if one[1]["requested"]["context_tokens"] == shortest[one[0], one[1]["profile"]]]
    return baseline, [one for one in found if one not in baseline]


def _energy(found: Sequence[tuple[str, Document]]) -> Iterator[Block]:
    """Energy per output token where cards were sampled; what isn't valid stands there with its reason and no figure."""
    watched = [(name, document, document["energy"]) for name, document in found if document["energy"]["samples"]]
    if watched:
        yield TableBlock.of(ENERGY_HEADER, [energy_row(*one) for one in watched])


def energy_row(name: str, document: Document, energy: Document) -> tuple[str, ...]:
    """One capacity lane's energy as it is printed."""
    by_role = energy["by_role"].values()
    power = [role["mean_power_w"] for role in by_role if role["mean_power_w"] is not None]
    hottest = max(
        (role["max_temperature_c"] for role in by_role if role["max_temperature_c"] is not None), default=None
    )
    throttled = sorted({reason for role in by_role for reason in role["throttled_by"] or ()})
    figure = amount(energy["joules_per_output_token"], ".3f", "J/token") if energy["valid"] else "not valid"
    return (
        name, document["profile"], f"{document['requested']['context_tokens']:,}", figure, amount(sum(power) if power else None, ".0f", "W"),
        amount(hottest, ".0f", "°C"), ", ".join(throttled) or "none", energy["reason"],
    )  # fmt: skip


def burst_section(packet: Path, lanes: Sequence[Document]) -> list[Block]:
    """The bursts under a heading of their own; nothing where there was none."""
    rows = [burst_row(*one) for one in _documents(packet, lanes, "burst")]
    return [Heading("Bursts"), TableBlock.of(BURST_HEADER, rows), Text(BURSTS)] if rows else []


def capacity_documents(packet: Path, lanes: Sequence[Document]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(recipe, document) of every capacity lane, in order."""
    return _documents(packet, lanes, "capacity")


def _documents(packet: Path, lanes: Sequence[Document], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for lane in lanes:
        for file in sorted((packet / "lanes" / lane["recipe"]).glob(f"{kind}-*.json")):
            yield lane["recipe"], read_json(file)


def _withheld(lane: Document) -> Iterator[tuple[str, str]]:
    """(profile, reason) where capacity has no result: it was not run, or stands behind a required gate that did not pass."""
    for profile in lane["profiles"]:
        stopped = None
        for gate in profile["gates"]:
            if gate["protocol"].startswith("capacity/"):
                if stopped or gate["verdict"] == "not_run":
                    yield profile["name"], f"withheld: {stopped or gate['reason']}"
                break
            if gate["required"] and gate["verdict"] != "passed":
                stopped = f"{gate['protocol']} {gate['verdict']}: {gate['reason']}"


def capacity_row(recipe: str, document: Document) -> tuple[str, ...]:
    """One capacity lane as it is printed; a missing value is a dash, never 0."""
    metrics = document["metrics"]

    def p50(tag: str, form: str, unit: str) -> str:
        return amount(metrics[tag]["p50"], form, unit)

    label = "" if document["decode_label"] == "visible" else f" {document['decode_label']}"
    suffix = "" if document["verdict"] == "passed" else f" ({document['verdict']})"
    return (
        recipe,
        document["profile"],
        document["protocol"] + suffix,
        f"{document['completed']}/{document['requested']['requests']}",
        f"{document['requested']['max_tokens']:,}",
        p50("prompt_tokens", ",.0f", ""),
        p50("first_output_s", ".3f", "s"),
        p50("first_visible_s", ".3f", "s"),
        p50("prefill_tok_s", ",.0f", "tok/s"),
        p50("decode_tok_s", ".1f", "tok/s") + label,
        amount(document["aggregate_output_tok_s"], ".2f", "tok/s"),
        str(metrics["first_output_s"]["n"]),
    )


def certainty_row(recipe: str, document: Document) -> tuple[str, ...]:
    """The same lane's medians with their intervals, and p95 where n allows it."""
    first, decode = document["metrics"]["first_output_s"], document["metrics"]["decode_tok_s"]
    return (
        recipe,
        document["profile"],
        amount(document["metrics"]["prompt_tokens"]["p50"], ",.0f", ""),
        str(first["n"]),
        _with_interval(first, "p50", ".3f", "s"),
        _with_interval(first, "p95", ".3f", "s"),
        _with_interval(decode, "p50", ".1f", "tok/s"),
    )


def _with_interval(summary: Document, quantile: str, form: str, unit: str) -> str:
    value = summary[quantile]
    if value is None:
        return "-"
    if not any(summary[f"{quantile}_interval"]):
        return amount(value, form, unit)
    low, high = (amount(end, form, "") if end is not None else "?" for end in summary[f"{quantile}_interval"])
    return f"{amount(value, form, unit)} ({low} to {high})"


def _notes(document: Document) -> Iterator[str]:
    """What a reader has to know before the lane's figures are used."""
    delivery = document["delivery"]
    if delivery["warm"]:
        yield f"{delivery['warm']} of {document['completed']} prompts were warm and are left out of every moment."
    if delivery["untrusted"]:
        yield f"{delivery['untrusted']} of {document['completed']} streams can't be timed ({delivery['reasons'][0]})."
    bound = delivery["decode_overstated_by_at_most"]
    if bound:
        yield f"its decode rate is at most {bound:.2%} too high: the first delta may hold several tokens, and the engine doesn't count along."
    for failure in document["failures"]:
        yield f"request {failure['request']} failed: {failure['class']} ({failure['text']})."


def burst_row(recipe: str, document: Document) -> tuple[str, ...]:
    """One burst as it is printed."""
    asked, waiting = document["requested"]["concurrency"], document["most_waiting"]
    seconds = (document[f"first_output_{name}_s"] for name in ("min", "p50", "max"))
    return (
        recipe,
        document["profile"],
        document["verdict"],
        str(asked),
        f"{document['completed']}/{asked}",
        amount(document["alone_first_output_s"], ".3f", "s"),
        *(amount(value, ".3f", "s") for value in seconds),
        amount(document["slowdown"], ".1f", "x"),
        str(document["generating_at_once"]),
        "-" if waiting is None else str(waiting),
    )


def amount(value: float | None, form: str, unit: str) -> str:
    return "-" if value is None else f"{value:{form}} {unit}".strip()
