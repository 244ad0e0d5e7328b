# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probe came to, and the looks that every probe takes first. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .._words.events import Reply
from .._words.profile import Reasoning
from .._words.verdict import VerdictName
from .channels import leak, oddities, unwanted_reasoning
from .coherence import repetition

Settings = dict[str, Any]
SHOWN = 120


@dataclass(frozen=True)
class Finding:
    """``caveats``: what harms nothing and has to be said beside a pass."""

    verdict: VerdictName
    reason: str
    caveats: tuple[str, ...] = ()


def passed(reason: str, *caveats: str) -> Finding:
    return Finding("passed", reason, caveats)


def failed(reason: str) -> Finding:
    return Finding("failed", reason)


def fault(reply: Reply) -> Finding | None:
    """A failed finding where the reply is no usable answer."""
    return failed(f"{reply.error_class}: {(reply.error or '')[:200]}") if reply.error_class else None


def wrong_answer(wrong: str | None, reply: Reply) -> Finding | None:
    """A failed finding with the answer's beginning; where the answer is a loop, that is said, too."""
    if wrong is None:
        return None
    loop = repetition(reply.content)
    return failed(
        f"{wrong}{f'; {loop}' if loop else ''}: {reply.content[:SHOWN]!r} (finish reason {reply.finish_reason})"
    )


def after_channels(finding: Finding, replies: Iterable[Reply], reasoning: Reasoning, parsers: str) -> Finding:
    """The finding, unless text of another channel is the cause or comes on top of it; that text isn't repeated in the reason."""
    replies = list(replies)
    for reply in replies:
        cause = leak(reply, parsers) or unwanted_reasoning(reply, reasoning)
        if cause:
            return failed(cause)
    odd = tuple(dict.fromkeys(item for reply in replies for item in oddities(reply, reasoning)))
    return replace(finding, caveats=finding.caveats + odd)


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]
