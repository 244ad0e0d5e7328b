# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a known warning means here: a proof that is made beside the engine, instead of a caveat that somebody declares."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .._words.errors import CampaignError
from .._words.text import plain
from .._words.verdict import VerdictName
from . import token_ids
from .diagnosis import KnownWarning

ANSWER_LIMIT = 64 * 2**10
#: Runs a program's source with one argument where the engine runs, and returns its output.
RunPython = Callable[[str, str], str]


@dataclass(frozen=True)
class Proof:
    """``facts``: what :mod:`token_ids` told."""

    kind: str
    verdict: VerdictName
    reason: str
    facts: dict[str, Any]


def prove(warnings: Iterable[KnownWarning], snapshot: str, run: RunPython) -> dict[str, Proof]:
    """Signature's id -> proof, for the warnings for which one can be made."""
    return {item.signature: token_proof(snapshot, run) for item in warnings if item.proof == "token-ids"}


def token_proof(snapshot: str, run: RunPython) -> Proof:
    """Passed where neither an id nor a split differs; nothing that went wrong on the way is a proof of anything."""
    try:
        facts = _document(run(inspect.getsource(token_ids), snapshot))
    except (CampaignError, OSError) as exc:
        facts = {"problem": str(exc)}
    verdict, reason = judge_token_ids(facts)
    return Proof("token-ids", verdict, plain(reason, 400), facts)


def judge_token_ids(facts: dict[str, Any]) -> tuple[VerdictName, str]:
    """Verdict and reason."""
    if "problem" in facts:
        return "inconclusive", f"token ids were not compared: {facts['problem']}"
    texts, ids, splits = (facts.get(name) for name in ("texts", "ids_differ", "splits_differ"))
    if not (isinstance(texts, int) and isinstance(ids, int) and isinstance(splits, int)) or texts < 1:
        return "inconclusive", "token ids were not compared: the program's answer has no counts"
    if not facts.get("corrected"):
        return "inconclusive", f"{facts.get('library')} has no correction for this tokenizer, so nothing was compared"
    if ids:
        return "failed", f"{ids} of {texts} texts have other token ids with the library's correction"
    if splits:
        return "inconclusive", f"{splits} of {texts} texts are split in another way, though none has other token ids"
    return "passed", f"{texts} texts have the same splits and token ids with the library's correction"


def _document(output: str) -> dict[str, Any]:
    """The last line that is an object: libraries print what they like before it."""
    for line in reversed(output[-ANSWER_LIMIT:].splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                break
            return dict(found)
    return {"problem": f"no answer: {output[-200:]}"}
