# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functional gate's checks: each probe sends its requests and says what it saw; what holds for every answer is looked at here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._words.documents import to_document
from .._words.events import Reply
from .._words.profile import FunctionalGate
from .._words.verdict import CheckResult, GateResult, Level
from . import text_probes, tool_probes
from .channels import channels_by_route
from .finding import Finding, Settings, after_channels
from .session import Session
from .verdicts import judge_checks

Probe = Callable[[Session, str, Settings], Finding]
PROBES: Mapping[str, Probe] = {
    probe.__name__: probe
    for probe in (
        text_probes.known_answer,
        text_probes.json_answer,
        text_probes.streaming,
        text_probes.retrieval,
        text_probes.coherence,
        tool_probes.tool_call,
        tool_probes.tool_result,
        tool_probes.responses_text,
        tool_probes.responses_tool,
        tool_probes.responses_result,
    )
}


def run_check(
    session: Session, name: str, level: Level, settings: Settings, probes: Mapping[str, Probe] = PROBES
) -> CheckResult:
    """One check as a result. A probe that sent nothing is ``inconclusive``: a gate that inspected nothing must not pass."""
    session.begin()
    finding = probes[settings["probe"]](session, name, settings)
    if session.asked:
        finding = after_channels(finding, session.replies, session.reasoning, session.parsers)
    else:
        finding = Finding("inconclusive", "nothing was inspected")
    return CheckResult(name, level, finding.verdict, finding.reason, tuple(session.asked), finding.caveats)


def run_functional(
    session: Session, gate: FunctionalGate, protocol: dict[str, Any]
) -> tuple[GateResult, dict[str, Any]]:
    """(result, what functional.json has of it: the checks and what was seen of the reasoning channel)."""
    levels: list[tuple[str, Level]] = [(name, "required") for name in gate.required] + [
        (name, "advisory") for name in gate.advisory
    ]
    checks: list[CheckResult] = []
    replies: list[Reply] = []
    for number, (name, level) in enumerate(levels, start=1):
        session.tell("functional", f"functional {number}/{len(levels)}: {name}", done=number, total=len(levels))
        checks.append(run_check(session, name, level, protocol["check"][name]))
        replies += session.replies
    result = judge_checks(gate.protocol, tuple(checks))
    return result, {
        "profile": session.profile,
        **to_document(result),
        "reasoning_tokens_allowed": session.reasoning_tokens,
        "channels": channels_by_route(replies),
    }
