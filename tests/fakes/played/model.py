"""What the played model says: an utterance for a request, from the answers it knows."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomllib

from .asked import Asked, tokens_of
from .behaviour import Behaviour

THOUGHTS = (
    "Let me see what is asked here and which facts I have, then I check each of them once more before the answer ."
)


@dataclass(frozen=True)
class Utterance:
    """An answer before it is sent. ``calls``: ``{index, id, name, arguments}``. A count of None follows from the text."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    finish: str = "stop"
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int | None = None

    @property
    def reasoning_tokens(self) -> int:
        return len(tokens_of(self.reasoning))

    @property
    def counted(self) -> int:
        """Completion tokens."""
        if self.completion_tokens is not None:
            return self.completion_tokens
        calls = sum(len(tokens_of(call["arguments"])) + 1 for call in self.calls)
        return self.reasoning_tokens + len(tokens_of(self.content)) + calls


@cache
def knowledge() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "answers.toml").read_text(encoding="utf-8"))


def reasons(asked: Asked, behaviour: Behaviour) -> bool:
    """Whether this request is reasoned about, by the switches that this engine knows."""
    how = behaviour.reasoning
    if not how.tokens:
        return False
    kwargs = asked.body.get("chat_template_kwargs") or {}
    effort = asked.body.get("reasoning_effort") or (asked.body.get("reasoning") or {}).get("effort")
    if how.switch == "kwargs" and "enable_thinking" in kwargs:
        return bool(kwargs["enable_thinking"])
    if how.switch == "effort" and effort:
        return bool(effort != "none")
    return how.default


def utter(asked: Asked, behaviour: Behaviour) -> Utterance:
    """The answer within its allowance: reasoning first, then what is left for the text."""
    thoughts = tokens_of(" ".join([THOUGHTS] * (behaviour.reasoning.tokens // 20 + 1)))
    reasoning = thoughts[: behaviour.reasoning.tokens] if reasons(asked, behaviour) else []
    reasoning = reasoning[: asked.max_tokens]
    text, calls = _known_answer(asked, behaviour, asked.max_tokens - len(reasoning))
    words = tokens_of(text)
    cut = words[: asked.max_tokens - len(reasoning)]
    finish = "tool_calls" if calls else ("length" if len(cut) < len(words) or not (cut or calls) else "stop")
    return Utterance("".join(reasoning), "".join(cut), calls, finish, asked.prompt_tokens)


def _known_answer(asked: Asked, behaviour: Behaviour, left: int) -> tuple[str, tuple[dict[str, Any], ...]]:
    for entry in knowledge()["answer"]:
        found = re.search(entry["match"], asked.question)
        if not found or ("calls" in entry and (not asked.tools or asked.has_result)):
            continue
        if "find" in entry:
            found = re.search(entry["find"], asked.text) or found
        groups = found.groups()
        if "prose" in entry:
            return prose(entry["prose"] or behaviour.answer_tokens or left, asked.question), ()
        calls = tuple(
            {
                "index": number,
                "id": f"call_{number}",
                "name": call["name"],
                "arguments": call["arguments"].format(*groups),
            }
            for number, call in enumerate(entry.get("calls", ()))
        )
        return entry.get("text", "").format(*groups), calls
    raise ValueError("the last entry of answers.toml has to fit every question")


def prose(words: int, seed: str) -> str:
    """So many words in whole sentences where they fit, the same for the same question."""
    sentences = knowledge()["prose"]["sentences"]
    order = random.Random(seed[-200:])
    parts: list[str] = []
    while len(parts) < words:
        for sentence in order.sample(sentences, len(sentences)):
            parts += sentence.split()
            if len(parts) >= words:
                break
    return " ".join(parts if words > 60 and len(parts) < words + 30 else parts[:words])
