"""An utterance on the wire: timed pieces of a stream, or a whole document, in the shape of each engine's flavour."""

from __future__ import annotations

import json
from typing import Any

from .asked import tokens_of
from .behaviour import Behaviour
from .faults import Timed
from .model import Utterance

#: vLLM 0.25 writes ``reasoning``, SGLang 0.5 and llama.cpp ``reasoning_content``.
REASONING_FIELD = {
    "vllm": "reasoning",
    "sglang": "reasoning_content",
    "llama_cpp": "reasoning_content",
    "openai": "reasoning_content",
}


def reasoning_field(behaviour: Behaviour) -> str:
    return behaviour.reasoning.field or REASONING_FIELD[behaviour.flavour]


def pieces_of(said: Utterance, behaviour: Behaviour) -> list[Timed]:
    """Role, output deltas, finish, usage, end: each with its time after the request, unscaled."""
    uncached = max(0, said.prompt_tokens - said.cached_tokens)
    start = behaviour.overhead_s + uncached / behaviour.prefill_tok_s
    deltas = [{reasoning_field(behaviour): word} for word in tokens_of(said.reasoning)]
    deltas += [{"content": word} for word in tokens_of(said.content)]
    pieces = (
        [] if behaviour.role == "none" else [Timed(0.0 if behaviour.role == "at_once" else start, 0, _role(behaviour))]
    )
    made = 0
    for group in _grouped(deltas, behaviour.tokens_per_chunk):
        made += len(group)
        name = next(iter(group[0]))
        at = start + (made - 1) / behaviour.decode_tok_s
        pieces.append(Timed(at, made, {name: "".join(delta[name] for delta in group)}))
    for call in said.calls:
        for fragment in _fragments(call, behaviour.tool_fragment):
            made += 1
            pieces.append(Timed(start + (made - 1) / behaviour.decode_tok_s, made, {"tool_calls": [fragment]}))
    end = start + max(0, said.counted - 1) / behaviour.decode_tok_s
    return [
        *pieces,
        Timed(end, said.counted, {}, "finish"),
        Timed(end, said.counted, {}, "usage"),
        Timed(end, said.counted, {}, "done"),
    ]


def _role(behaviour: Behaviour) -> dict[str, Any]:
    return {"role": "assistant", "content": None if behaviour.flavour == "llama_cpp" else ""}


def _grouped(deltas: list[dict[str, str]], size: int) -> list[list[dict[str, str]]]:
    """Chunks of so many tokens; reasoning and text never share one."""
    groups: list[list[dict[str, str]]] = []
    for delta in deltas:
        if groups and len(groups[-1]) < size and set(groups[-1][0]) == set(delta):
            groups[-1].append(delta)
        else:
            groups.append([delta])
    return groups


def _fragments(call: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Id and name first with the first characters, then the rest of the arguments."""
    text = call["arguments"]
    parts = [text[start : start + size] for start in range(0, len(text), size)] or [""]
    head = {
        "index": call["index"],
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": parts[0]},
    }
    return [head, *({"index": call["index"], "function": {"arguments": part}} for part in parts[1:])]


def usage_of(said: Utterance, behaviour: Behaviour, completion_tokens: int) -> dict[str, Any]:
    """SGLang counts reasoning at the top level, vLLM not at all; the cached part is told by those who are set to."""
    usage: dict[str, Any] = {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": said.prompt_tokens + completion_tokens,
    }
    if behaviour.cached_in_usage or behaviour.flavour == "llama_cpp":
        usage["prompt_tokens_details"] = {"cached_tokens": said.cached_tokens}
    if behaviour.flavour == "sglang":
        usage["reasoning_tokens"] = min(said.reasoning_tokens, completion_tokens)
    return usage


def event_of(piece: Timed, said: Utterance, behaviour: Behaviour, model: str) -> bytes:
    """One server-sent event."""
    if piece.kind == "done":
        return b"data: [DONE]\n\n"
    if piece.kind == "raw":
        return f"data: {piece.raw}\n\n".encode()
    document: dict[str, Any] = {
        "id": "chatcmpl-played",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
    }
    reason = said.finish if piece.kind == "finish" else ("" if piece.kind == "delta-empty-reason" else None)
    document["choices"] = [] if piece.kind == "usage" else [{"index": 0, "delta": piece.delta, "finish_reason": reason}]
    if piece.kind == "usage" or (behaviour.usage == "each" and piece.tokens):
        document["usage"] = usage_of(said, behaviour, piece.tokens)
    return b"data: " + json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def whole_chat(said: Utterance, behaviour: Behaviour, model: str) -> dict[str, Any]:
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in said.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said.content or None}
    if said.reasoning:
        message[reasoning_field(behaviour)] = said.reasoning
    if calls:
        message["tool_calls"] = calls
    document: dict[str, Any] = {
        "id": "chatcmpl-played", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish}],
    }  # fmt: skip
    if behaviour.usage != "none":
        document["usage"] = usage_of(said, behaviour, said.counted)
    return document


def whole_responses(said: Utterance, model: str) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if said.reasoning:
        output.append({"type": "reasoning", "content": [{"type": "reasoning_text", "text": said.reasoning}]})
    if said.content:
        output.append(
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said.content}]}
        )
    output += [
        {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
        for call in said.calls
    ]
    usage = {
        "input_tokens": said.prompt_tokens,
        "output_tokens": said.counted,
        "total_tokens": said.prompt_tokens + said.counted,
    }
    return {
        "id": "resp_played",
        "object": "response",
        "model": model,
        "status": "completed",
        "output": output,
        "usage": usage,
    }
