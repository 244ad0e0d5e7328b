# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to another channel: reasoning and tool markup in visible text, reasoning where none may be. Pure; the texts themselves are never repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._words.events import Reply
from .._words.profile import Reasoning

#: Marks by which the chat templates of current models separate thinking and channels (templates of Qwen, DeepSeek, Nemotron, gpt-oss, Mistral,
#: Seed, Kimi, Inkling), and the turn marks that must never be seen at all.
REASONING_MARKER = re.compile(
    r"</?think(?:ing)?>|</?reasoning>|\[/?THINK\]|</?seed:think>|\u25c1/?think\u25b7|<\|?channel\|?>|<\|(?:start|message|end|return|im_start|im_end)\|>",
    re.IGNORECASE,
)
#: Marks of tool calls (Hermes, Qwen, Mistral, Llama, DeepSeek, Kimi, MiniMax, GLM, gpt-oss).
TOOL_MARKER = re.compile(
    r"</?tool_calls?>|<\|?tool_calls?(?:_section)?(?:_begin|_end)?\|?>|\[TOOL_CALLS\]|</?function(?:=|_call)|<\|python_tag\|>|<invoke name=|"
    r"<\uff5ctool\u2581calls?\u2581begin\uff5c>|<\uff5cDSML\uff5c|<tool_code>|<\|call\|>",
    re.IGNORECASE,
)

#: How a model talks to itself of the person who asks; the published campaign's Inkling began so in Responses, without any mark.
#: No question of the protocols is about a user, so no answer begins so.
SELF_TALK = re.compile(
    r"\A\W*(?:okay|alright|hmm|so|well|first)?[,.]?\s*(?:(?:the|this) user(?:'s)? (?:wants|want|is asking|asks|asked|says|said|requests|needs|just|question)"
    r"|(?:we|i) (?:need|have|should|must) (?:to )?(?:answer|respond|reply|output)\b)",
    re.IGNORECASE,
)


def leak(reply: Reply, parsers: str = "") -> str | None:
    """Markup of another channel in the visible text, or reasoning without any. ``parsers``: the parser arguments that the engine is served with."""
    served = f" (served with {parsers})" if parsers else " (no parser is set)"
    for marker, what, setting in (
        (REASONING_MARKER, "reasoning marker", "reasoning parser"),
        (TOOL_MARKER, "tool markup", "tool-call parser"),
        (SELF_TALK, "reasoning about the request", "reasoning parser"),
    ):
        found = marker.search(reply.content)
        if found:
            return (
                f"{what} {found[0]!r} in the visible text of {len(reply.content)} characters, which is not shown: "
                f"the {setting} or the chat template is suspected{served}"
            )
    return None


def call_in_reasoning(reply: Reply) -> str | None:
    """A tool call that was swallowed by the reasoning channel. To be asked only where a call was wanted and none came."""
    found = TOOL_MARKER.search(reply.reasoning)
    if reply.tool_calls or not found:
        return None
    return f"tool markup {found[0]!r} inside the reasoning channel of {len(reply.reasoning)} characters, which is not shown: the call was swallowed there"


def claims_none(reasoning: Reasoning) -> bool:
    """Whether the profile says that there is no reasoning."""
    return reasoning.mode == "off" or reasoning.effort == "none"


def unwanted_reasoning(reply: Reply, reasoning: Reasoning) -> str | None:
    """Reasoning in spite of a setting that rules it out."""
    if not claims_none(reasoning):
        return None
    setting = f"effort {reasoning.effort}" if reasoning.effort else "reasoning off"
    if reply.reasoning.strip():
        counted = f", {reply.reasoning_tokens} tokens" if reply.reasoning_tokens else ""
        return f"reasoning came with {setting}: {len(reply.reasoning)} characters{counted}"
    if reply.reasoning_tokens and not explained_by_text(reply):
        return f"reasoning was paid for with {setting}: {reply.reasoning_tokens} of {reply.completion_tokens} tokens, none of them shown"
    return None


def explained_by_text(reply: Reply) -> bool:
    """Whether the visible text may be all of the completion tokens: a token is at least one byte. Some parsers count visible tokens as reasoning."""
    return reply.completion_tokens is not None and reply.completion_tokens <= len(reply.content.encode())


def oddities(reply: Reply, reasoning: Reasoning) -> tuple[str, ...]:
    """What harms nothing and yet has to be said."""
    odd = reply.oddities
    if claims_none(reasoning) and not reply.reasoning.strip() and reply.reasoning_tokens and explained_by_text(reply):
        odd += (
            f"the engine counts {reply.reasoning_tokens} reasoning tokens for an answer whose tokens may all be visible",
        )
    return odd


def channels_by_route(replies: Iterable[Reply]) -> dict[str, dict[str, Any]]:
    """:func:`channel_facts` of chat completions and of Responses apart: the second API may not know the switch, and quality only uses the first."""
    replies = list(replies)
    return {
        route: channel_facts([reply for reply in replies if reply.route == route]) for route in ("chat", "responses")
    }


def channel_facts(replies: list[Reply]) -> dict[str, Any]:
    """What was seen of the reasoning channel: requests, how many had reasoning, the fields, characters and tokens; no text."""
    counts = [reply.reasoning_tokens for reply in replies if reply.reasoning_tokens is not None]
    return {
        "requests": len(replies),
        "with_reasoning": sum(bool(reply.reasoning.strip()) for reply in replies),
        "fields": sorted({reply.reasoning_field for reply in replies if reply.reasoning_field}),
        "reasoning_characters": sum(len(reply.reasoning) for reply in replies),
        "reasoning_tokens": sum(counts) if counts else None,
        "reasoning_tokens_told_by": len(counts),
    }
