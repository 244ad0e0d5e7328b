# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log says of a load, by known signatures: why it ended, why it is silent, what it warns of. Pure.

The earliest sign counts, as engines report a consequence last (an integer that can't be read becomes "architectures failed to be inspected");
a signature that knows more than another one replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .._words.signature import Signature
from .._words.text import plain

RANK = re.compile(r"\[(\d+)\] (?:\S+ )?NCCL|\brank[ =:]?(\d+)|\bTP(\d+)")
LINE, WARNINGS = 240, 40
#: A line at the level of a warning, by Python's logging, its warnings module, or an engine's own form.
WARNS = re.compile(r"\bWARN(?:ING)?\b|\b\w*Warning: ")


@dataclass(frozen=True)
class Finding:
    """``cause`` is the signature's id; ``line`` the evidence; ``missing`` the parts of the contract that the start lacked."""

    cause: str
    meaning: str
    action: str
    line: str
    missing: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    place: bool = False
    source: str = ""

    def sentence(self, where: str = "") -> str:
        """For people: meaning, where it was seen, what was missing, the way out."""
        place = f" ({where})" if where and self.place else ""
        ranks = f" (ranks {', '.join(map(str, self.ranks))} agree)" if len(self.ranks) > 1 else ""
        missing = f". The start lacks {' and '.join(self.missing)}" if self.missing else ""
        return f"{self.meaning}{place}{ranks}{missing}. Way out: {self.action}. Evidence: {self.line}"


@dataclass(frozen=True)
class KnownWarning:
    """``signature``: its id. ``caveat``: what a recipe declares for it; ``proof``: what can be done instead, None where nothing can."""

    signature: str
    caveat: str
    line: str
    proof: str | None = None


@dataclass(frozen=True)
class Warnings:
    """Of a load that succeeded. ``unknown``: other lines at that level, each once."""

    known: tuple[KnownWarning, ...]
    unknown: tuple[str, ...]


def diagnose(
    log: str, signatures: Iterable[Signature], environment: Mapping[str, str] | None = None, *, stalled: bool = False
) -> Finding | None:
    """None where no known sign is in it. ``environment``: the start's, for what it lacks of the contract."""
    kinds = ("fault", "stall") if stalled else ("fault",)
    found = {item.id: (match, item) for item in signatures if item.kind in kinds and (match := _search(item, log))}
    replaced = {other for _match, item in found.values() for other in item.instead_of}
    left = [pair for name, pair in found.items() if name not in replaced]
    # A silent load has not failed: what explains the silence comes after what has failed.
    left.sort(key=lambda pair: (pair[1].kind == "stall", pair[0].start()))
    return _finding(log, *left[0], environment or {}) if left else None


def _search(signature: Signature, log: str) -> re.Match[str] | None:
    match = re.search(signature.pattern, log, re.IGNORECASE)
    if match and signature.unless and re.search(signature.unless, log, re.IGNORECASE):
        return None
    return match


def _finding(log: str, match: re.Match[str], signature: Signature, environment: Mapping[str, str]) -> Finding:
    values = [plain(value or "", 120) for value in match.groups()]
    missing = tuple(
        item for item in signature.contract if environment.get(item.partition("=")[0]) != item.partition("=")[2]
    )
    return Finding(
        signature.id, signature.meaning.format(*values), signature.action.format(*values), _line(log, match.start()), missing,
        _ranks(log, signature), signature.place, signature.source,
    )  # fmt: skip


def _line(log: str, position: int) -> str:
    start, end = log.rfind("\n", 0, position) + 1, log.find("\n", position)
    return plain(log[start : end if end >= 0 else len(log)], LINE)


def _ranks(log: str, signature: Signature) -> tuple[int, ...]:
    """Ranks whose lines show the sign."""
    lines = (line for line in log.splitlines() if re.search(signature.pattern, line, re.IGNORECASE))
    found = (match for line in lines if (match := RANK.search(line)))
    return tuple(sorted({int(next(group for group in match.groups() if group)) for match in found}))


def warnings_in(log: str, signatures: Iterable[Signature]) -> Warnings:
    """Each once, numbers and times left out of account; bounded."""
    known_ones = [item for item in signatures if item.kind == "warning"]
    known: dict[str, KnownWarning] = {}
    unknown: dict[str, str] = {}
    for line in log.splitlines():
        signature = next((item for item in known_ones if re.search(item.pattern, line, re.IGNORECASE)), None)
        if signature is not None:
            found = KnownWarning(signature.id, str(signature.caveat), plain(line, LINE), signature.proof)
            known.setdefault(signature.id, found)
        elif WARNS.search(line):
            unknown.setdefault(re.sub(r"\d+", "#", line), plain(line, LINE))
    return Warnings(tuple(known.values()), tuple(unknown.values())[:WARNINGS])
