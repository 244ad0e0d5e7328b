"""What can go wrong, by name: in what is said (``SAID``), in how it is sent (``SENT``), or instead of an answer (``INSTEAD``).

Each name stands for public reports; the cases E to H that tell of them are named beside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .asked import Asked, tokens_of
from .behaviour import Fault
from .model import THOUGHTS, Utterance

Values = dict[str, Any]


@dataclass(frozen=True)
class Timed:
    """One piece on the wire: ``at_s`` after the request (unscaled), ``tokens`` made until then, and the delta or raw text."""

    at_s: float
    tokens: int
    delta: dict[str, Any]
    kind: str = "delta"
    raw: str = ""


def _repetition(said: Utterance, asked: Asked, _values: Values) -> Utterance:
    """E1."""
    return replace(said, content="lock handle " * (asked.max_tokens // 2), calls=(), finish="length")


def _foreign(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """E5: the right answer in another language."""
    return replace(said, content="法国的首都是巴黎，它位于塞纳河畔，是法国最大的城市。", completion_tokens=20)


def _silent(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """E6: tokens were made, no text came."""
    return replace(said, content="", calls=(), reasoning="", completion_tokens=max(said.counted, 9))


def _broken_text(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    return replace(said, content=said.content.replace("e", "\ufffd"))


def _wrong(said: Utterance, _asked: Asked, values: Values) -> Utterance:
    return replace(said, content=str(values.get("text", "I am not sure about this.")), calls=(), finish="stop")


def _arguments(change: Callable[[str], str]) -> Callable[[Utterance, Asked, Values], Utterance]:
    def changed(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
        return replace(said, calls=tuple({**call, "arguments": change(call["arguments"])} for call in said.calls))

    return changed


def _shared_index(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """F4."""
    return replace(said, calls=tuple({**call, "index": 0} for call in said.calls))


def _written_call(call: dict[str, Any]) -> str:
    return f'<tool_call>\n{{"name": "{call["name"]}", "arguments": {call["arguments"]}}}\n</tool_call>'


def _call_as_text(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """F6."""
    text = "\n".join(map(_written_call, said.calls))
    return replace(said, content=text or said.content, calls=(), finish="stop")


def _finish_stop(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """F7."""
    return replace(said, finish="stop")


def _call_in_reasoning(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """F10."""
    return replace(
        said, reasoning="I look up the weather. " + "".join(map(_written_call, said.calls)), calls=(), finish="stop"
    )


def _reasoning_in_content(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """G1, G7."""
    return replace(said, content=f"{said.reasoning or THOUGHTS}</think>\n{said.content}", reasoning="")


def _self_talk(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """Reasoning without a mark before the answer, as the published campaign saw it in Inkling's Responses."""
    return replace(
        said, content=f"The user wants one word, and nothing beside it. So I answer: {said.content}", reasoning=""
    )


def _reasoning_only(said: Utterance, _asked: Asked, values: Values) -> Utterance:
    """G6, and the empty Responses of the published campaign's Qwen."""
    return replace(said, reasoning=str(values.get("text", THOUGHTS)), content="", calls=(), finish="stop")


def _reasoning_exhausted(said: Utterance, asked: Asked, _values: Values) -> Utterance:
    """The whole allowance goes into reasoning (DeepSeek's eighth request of the published campaign)."""
    words = tokens_of(" ".join([THOUGHTS] * (asked.max_tokens // 20 + 1)))[: asked.max_tokens]
    return replace(said, reasoning="".join(words), content="", calls=(), finish="length")


def _one_token(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """H10."""
    return replace(said, content="Yes", calls=(), finish="stop")


def _miscounted(said: Utterance, _asked: Asked, values: Values) -> Utterance:
    """H8: the server counts fewer prompt tokens than were asked for."""
    return replace(said, prompt_tokens=round(said.prompt_tokens * values.get("factor", 0.91)))


def _warm(said: Utterance, _asked: Asked, _values: Values) -> Utterance:
    """H7: nearly all of the prompt comes from the cache."""
    return replace(said, cached_tokens=said.prompt_tokens // 16 * 16)


def _buffered(pieces: list[Timed], _values: Values) -> list[Timed]:
    """H3: a proxy holds everything back and delivers it at once."""
    return [replace(piece, at_s=pieces[-1].at_s) for piece in pieces]


def _burst(pieces: list[Timed], values: Values) -> list[Timed]:
    """H15: k tokens are held back and come as one delta."""
    size = int(values.get("tokens", 40))
    outputs = [
        piece
        for piece in pieces
        if piece.kind == "delta" and set(piece.delta) & {"content", "reasoning", "reasoning_content"}
    ]
    others = [piece for piece in pieces if piece not in outputs]
    joined = []
    for start in range(0, len(outputs), size):
        part = outputs[start : start + size]
        delta: dict[str, str] = {}
        for piece in part:
            for name, text in piece.delta.items():
                delta[name] = delta.get(name, "") + text
        joined.append(Timed(part[-1].at_s, part[-1].tokens, delta))
    ending = [piece for piece in others if piece.kind != "delta" or "role" not in piece.delta]
    return [*(piece for piece in others if piece not in ending), *joined, *ending]


def _slow(pieces: list[Timed], values: Values) -> list[Timed]:
    """H14: the first request pays for compilation."""
    return [replace(piece, at_s=piece.at_s + values.get("seconds", 20.0)) for piece in pieces]


def _late_text(pieces: list[Timed], values: Values) -> list[Timed]:
    """H1: the role comes at once, the text later."""
    return [
        replace(piece, at_s=0.0 if "role" in piece.delta else piece.at_s + values.get("seconds", 2.0))
        for piece in pieces
    ]


def _stream_error(pieces: list[Timed], values: Values) -> list[Timed]:
    """H11: 200, some output, an error event, [DONE]."""
    kept = pieces[: int(values.get("after", 6))]
    error = '{"error": {"message": "Internal server error", "type": "InternalServerError", "param": null, "code": 500}}'
    return [*kept, Timed(kept[-1].at_s, kept[-1].tokens, {}, "raw", error), Timed(kept[-1].at_s, 0, {}, "done")]


def _cut(pieces: list[Timed], values: Values) -> list[Timed]:
    """The connection ends in the middle."""
    kept = pieces[: int(values.get("after", 6))]
    return [*kept, Timed(kept[-1].at_s, 0, {}, "cut")]


def _malformed(pieces: list[Timed], _values: Values) -> list[Timed]:
    return [*pieces[:3], Timed(pieces[3].at_s, 0, {}, "raw", '{"choices": [{"delta": '), *pieces[3:]]


def _without(kind: str) -> Callable[[list[Timed], Values], list[Timed]]:
    return lambda pieces, _values: [piece for piece in pieces if piece.kind != kind]


def _empty_finish_reasons(pieces: list[Timed], _values: Values) -> list[Timed]:
    """F7: an empty string where null belongs."""
    return [replace(piece, kind="delta-empty-reason") if piece.kind == "delta" else piece for piece in pieces]


def _no_end(pieces: list[Timed], values: Values) -> list[Timed]:
    """The text stops coming, the connection stays."""
    kept = pieces[: int(values.get("after", 6))]
    return [*kept, Timed(kept[-1].at_s, 0, {}, "hang")]


SAID: dict[str, Callable[[Utterance, Asked, Values], Utterance]] = {
    "repetition": _repetition,
    "foreign": _foreign,
    "silent": _silent,
    "broken_text": _broken_text,
    "wrong": _wrong,
    "doubled_arguments": _arguments(lambda text: text * 2),
    "cut_arguments": _arguments(lambda text: text[: len(text) * 2 // 3]),
    "shared_index": _shared_index,
    "call_as_text": _call_as_text,
    "finish_stop": _finish_stop,
    "call_in_reasoning": _call_in_reasoning,
    "reasoning_in_content": _reasoning_in_content,
    "self_talk": _self_talk,
    "reasoning_only": _reasoning_only,
    "reasoning_exhausted": _reasoning_exhausted,
    "one_token": _one_token,
    "miscounted": _miscounted,
    "warm": _warm,
}
SENT: dict[str, Callable[[list[Timed], Values], list[Timed]]] = {
    "buffered": _buffered,
    "burst": _burst,
    "slow": _slow,
    "late_text": _late_text,
    "stream_error": _stream_error,
    "cut": _cut,
    "malformed": _malformed,
    "no_done": _without("done"),
    "no_finish": _without("finish"),
    "no_usage": _without("usage"),
    "empty_finish_reasons": _empty_finish_reasons,
    "no_end": _no_end,
}
#: Status and words instead of an answer (F12, H13, and a server that fails); ``hang``: none at all.
INSTEAD = ("status", "hang")


class Faults:
    """Which faults a request meets. Counts the requests that each of them fits."""

    def __init__(self, declared: Iterable[Fault]) -> None:
        self.declared = tuple(declared)
        self.seen = [0] * len(self.declared)
        unknown = {fault.kind for fault in self.declared} - {*SAID, *SENT, *INSTEAD}
        if unknown:
            raise ValueError(
                f"no fault is called {', '.join(sorted(unknown))} ({', '.join([*SAID, *SENT, *INSTEAD])} are)"
            )

    def of(self, asked: Asked) -> list[Fault]:
        met = []
        for number, fault in enumerate(self.declared):
            fits = asked.path.startswith(fault.path) and asked.prompt_tokens >= fault.min_prompt_tokens
            if fits and re.search(fault.match, asked.question):
                self.seen[number] += 1
                if not fault.requests or self.seen[number] in fault.requests:
                    met.append(fault)
        return met


def spoilt(said: Utterance, asked: Asked, faults: Iterable[Fault]) -> Utterance:
    for fault in faults:
        if fault.kind in SAID:
            said = SAID[fault.kind](said, asked, fault.values)
    return said


def disturbed(pieces: list[Timed], faults: Iterable[Fault]) -> list[Timed]:
    for fault in faults:
        if fault.kind in SENT:
            pieces = SENT[fault.kind](pieces, fault.values)
    return pieces
