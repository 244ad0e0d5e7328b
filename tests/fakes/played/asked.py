"""A request as the played model understands it: its words, their count, and what it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

#: What a chat template puts around each message.
MESSAGE_TOKENS = 4
TOKEN = re.compile(r"\s*\S+")


@dataclass(frozen=True)
class Asked:
    """``question``: the last words of the user, and of a tool after them; ``text``: all words."""

    path: str
    body: dict[str, Any]
    question: str
    text: str
    prompt_tokens: int
    max_tokens: int
    has_result: bool

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> bool:
        return bool(self.body.get("tools"))


def count(messages: list[dict[str, Any]]) -> int:
    """The played tokenizer: a word is a token."""
    return sum(MESSAGE_TOKENS + len(_words(message).split()) for message in messages)


def read_request(path: str, body: dict[str, Any]) -> Asked:
    """A body of chat completions or of Responses."""
    messages = body.get("messages")
    if messages is None:
        items = body.get("input")
        messages = [{"role": "user", "content": items}] if isinstance(items, str) else list(items or [])
    asked = max((number for number, item in enumerate(messages) if item.get("role") == "user"), default=0)
    results = [
        item for item in messages[asked:] if item.get("role") == "tool" or item.get("type") == "function_call_output"
    ]
    question = "\n".join(map(_words, [*messages[asked : asked + 1], *results]))
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens") or 4096
    return Asked(
        path, body, question, "\n".join(map(_words, messages)), count(messages), int(limit), has_result=bool(results)
    )


def tokens_of(text: str) -> list[str]:
    """The text cut into tokens; joined they are the text again."""
    pieces = TOKEN.findall(text)
    rest = text[sum(map(len, pieces)) :]
    return [*pieces[:-1], pieces[-1] + rest] if pieces else ([rest] if rest else [])


def _words(message: dict[str, Any]) -> str:
    content = message.get("content", message.get("output"))
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return str(content or "")
