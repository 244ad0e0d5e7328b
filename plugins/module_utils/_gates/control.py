# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reasoning control: before quality is measured, proof that the thinking switch or effort took effect on this very engine."""

from __future__ import annotations

from typing import Any

from .._words.events import Reply
from .._words.profile import Reasoning
from .._words.verdict import VerdictName
from .channels import claims_none, leak
from .finding import user
from .session import Session

#: How much of an answer the contrast needs: reasoning comes first.
CONTRAST_TOKENS = 256


def run_control(session: Session, puzzle: str, budget: int, channels: dict[str, Any]) -> dict[str, Any]:
    """The control's document without its identity. ``channels``: what the functional gate saw of chat completions' reasoning.

    Off: none of the inspected requests may have any; the same puzzle without the switch shows, as a contrast, what the switch kept away.
    On or effort: the puzzle has to show some.
    """
    session.begin()
    session.tell("quality", "the reasoning control")
    reply = session.chat("reasoning_control", user(puzzle), max_tokens=budget)
    off, sent = claims_none(session.reasoning), session.adapter.switches(session.reasoning)
    contrast = None
    if off and sent:
        contrast = session.chat(
            "reasoning_contrast", user(puzzle), max_tokens=CONTRAST_TOKENS, reasoning=Reasoning(mode="on")
        )
    verdict, reason = (
        judge_off(sent, reply, contrast, channels, session.parsers) if off else judge_on(session.reasoning, reply)
    )
    return {
        "profile": session.profile,
        "reasoning": {"mode": session.reasoning.mode, "sent": sent},
        "claim": "no reasoning in any inspected chat completion" if off else "reasoning on a puzzle",
        "verdict": verdict,
        "reason": reason,
        "functional": channels,
        "puzzle": seen(reply),
        "contrast": seen(contrast) if contrast else None,
        "rows": list(session.asked),
        "not_shown": None
        if session.reasoning.mode != "effort"
        else "that this effort differs from the engine's other efforts",
    }


def seen(reply: Reply) -> dict[str, Any]:
    """The reasoning channel of one reply; no text."""
    return {
        "reasoning_characters": len(reply.reasoning.strip()),
        "reasoning_field": reply.reasoning_field,
        "reasoning_tokens": reply.reasoning_tokens,
        "visible_characters": len(reply.content),
        "finish_reason": reply.finish_reason,
        "error_class": reply.error_class,
    }


def reasoned(reply: Reply) -> bool:
    return bool(reply.reasoning.strip() or reply.reasoning_tokens)


def judge_on(reasoning: Reasoning, reply: Reply) -> tuple[VerdictName, str]:
    """Reasoning has to be seen where it was asked for."""
    what = f"effort {reasoning.effort}" if reasoning.effort else "reasoning on"
    if reasoned(reply):
        counted = f", {reply.reasoning_tokens} tokens" if reply.reasoning_tokens else ""
        return "passed", f"with {what} the puzzle brought {len(reply.reasoning)} characters of reasoning{counted}"
    if reply.error_class not in (None, "no_visible_answer"):
        return "inconclusive", f"the puzzle was not answered: {reply.error_class}"
    return "failed", f"with {what} the puzzle brought no reasoning, neither a field nor a count of tokens"


def judge_off(
    sent: dict[str, Any], reply: Reply, contrast: Reply | None, channels: dict[str, Any], parsers: str
) -> tuple[VerdictName, str]:
    """``sent``: the switches. None may be seen where it was ruled out; what the engine shows without the switch is said beside it."""
    what = ", ".join(f"{name} {value}" for name, value in sent.items()) or "no switch set"
    requests = channels["requests"] + 1
    found = leak(reply, parsers)
    with_reasoning = channels["with_reasoning"] + (reasoned(reply) or found is not None)
    if with_reasoning:
        return "failed", f"reasoning in {with_reasoning} of {requests} requests with {what}" + (
            f": {found}" if found else ""
        )
    if reply.error_class:
        return "inconclusive", f"the puzzle was not answered: {reply.error_class}"
    told = f"no reasoning in {requests} requests with {what}"
    if contrast is None:
        return "passed", told
    if reasoned(contrast):
        return (
            "passed",
            f"{told}; without it the same puzzle brought {len(contrast.reasoning)} characters: the switch took effect",
        )
    return "passed", f"{told}; none came without it, either"
