# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lane that failed shows: the symptom, where its evidence lies, what its log is known to mean. From a packet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from ..module_utils._words.text import plain

Document = Mapping[str, Any]
FAILED = ("rejected", "inconclusive", "infrastructure")
#: What a person opens first, in this order, where a lane has it.
EVIDENCE = (
    "engine.json", "startup.log", "nccl.json", "live.json", "snapshot.json", "image.json", "functional.json", "rows.jsonl", "unload.json",
    "verdict.json",
)  # fmt: skip
NUMBER = re.compile(r"\d+")
UNKNOWN = "no known sign in what was kept"
LINES = 8


@dataclass(frozen=True)
class Symptom:
    """``kind`` is the same where the same fails again: outcome and cause, or outcome and the checks that did not pass."""

    kind: str
    text: str
    diagnosis: str
    evidence: tuple[str, ...]
    lines: tuple[str, ...]


def failed(lane: Document) -> bool:
    """Whether a lane's result is a defect. A control is one that was not caught; what was never to run here is none."""
    if lane["control"] and lane["outcome"] != "not_run":
        return not lane["control"]["met"]
    return lane["outcome"] in FAILED


def symptom_of(packet: Path, lane: Document) -> Symptom:
    """``lane``: a result as verdict.json has it; its folder is looked at where it has one that is of this result."""
    folder = packet / "lanes" / lane["recipe"]
    ours = _is_of(folder, lane)
    failure = _failure(folder) if ours else {}
    cause = failure.get("cause") or {}
    told = [f"{profile}, {name}: {reason}" for profile, name, reason in missed(lane)]
    place = f"lanes/{lane['recipe']}/"
    return Symptom(
        kind=" ".join((lane["outcome"], *_kind(lane, cause, failure))),
        text=plain(lane["reason"], 600),
        diagnosis=_diagnosis(cause, told),
        evidence=tuple(f"{place}{name}" for name in EVIDENCE if ours and (folder / name).is_file())
        or ("verdict.json",),
        lines=tuple(failure.get("log_tail", ()))[-LINES:],
    )


def _kind(lane: Document, cause: Document, failure: Document) -> list[str]:
    """What stays the same where the same happens again: figures in a reason don't."""
    misses = [f"{profile}/{name}" for profile, name, _reason in missed(lane)]
    told = failure.get("stage") or NUMBER.sub("#", plain(lane["reason"], 160))
    return [str(cause["cause"])] if cause else misses or [str(told)]


def missed(lane: Document) -> Iterator[tuple[str, str, str]]:
    """(profile, check or gate, reason) of everything required that did not pass."""
    for profile in lane["profiles"]:
        for gate in profile["gates"]:
            if not gate["required"] or gate["verdict"] == "passed":
                continue
            checks = [
                check for check in gate["checks"] if check["level"] == "required" and check["verdict"] != "passed"
            ]
            for name, reason in [(check["name"], check["reason"]) for check in checks] or [
                (gate["protocol"], gate["reason"])
            ]:
                yield profile["name"], name, reason


def _is_of(folder: Path, lane: Document) -> bool:
    file = folder / "verdict.json"
    return file.is_file() and read_json(file)["reason"] == lane["reason"]


def _failure(folder: Path) -> dict[str, Any]:
    """What the load said as it failed."""
    engine = read_json(folder / "engine.json") if (folder / "engine.json").is_file() else {}
    return dict(engine.get("failure") or {})


def _diagnosis(cause: Document, told: list[str]) -> str:
    if cause:
        return plain(f"{cause['meaning']}. Way out: {cause['action']}. Evidence: {cause['line']}", 900)
    return plain("; ".join(told), 900) or UNKNOWN
