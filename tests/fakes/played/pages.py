"""What each flavour tells of itself beside its answers: pages, and the lines of its startup log, in the engines' own shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .behaviour import Behaviour

#: The engines' flags for what the pages and the log show again.
FLAGS = {
    "model": ("--model", "--model-path"),
    "name": ("--served-model-name", "--alias"),
    "host": ("--host",),
    "port": ("--port",),
    "context": ("--max-model-len", "--context-length", "--ctx-size"),
    "admission": ("--max-num-seqs", "--max-running-requests", "--parallel"),
    "ranks": ("--tensor-parallel-size", "--tp"),
    "kv": ("--kv-cache-dtype",),
    "moe": ("--moe-runner-backend", "--moe-backend"),
    "attention": ("--attention-backend",),
    "gemm": ("--fp4-gemm-backend",),
}
DEFAULTS = {
    "model": "/m",
    "name": "played",
    "host": "127.0.0.1",
    "port": "0",
    "context": "32768",
    "admission": "1",
    "ranks": "1",
}


@dataclass(frozen=True)
class Started:
    """The start's arguments by our names."""

    values: dict[str, str]
    experts_parallel: bool = False

    def __getattr__(self, name: str) -> str:
        return self.values.get(name, DEFAULTS.get(name, ""))


def started(arguments: list[str]) -> Started:
    """Takes what it knows of any engine's command line; the rest has no meaning for a played one."""
    named = {flag: name for name, flags in FLAGS.items() for flag in flags}
    values = {named[flag]: arguments[number + 1] for number, flag in enumerate(arguments[:-1]) if flag in named}
    return Started(values, "--enable-expert-parallel" in arguments)


def pages(start: Started, behaviour: Behaviour, counters: dict[str, int]) -> dict[str, Any]:
    """Path -> document, or bytes of a metrics page."""
    context, flavour = int(start.context), behaviour.flavour
    model: dict[str, Any] = {
        "id": start.name,
        "object": "model",
        "created": 1,
        "owned_by": {"llama_cpp": "llamacpp"}.get(flavour, flavour),
    }
    found: dict[str, Any] = {"/health": {}, "/v1/models": {"object": "list", "data": [model]}}
    if flavour == "vllm":
        model |= {"root": start.model, "max_model_len": context}
        found["/version"] = {"version": behaviour.version}
        found["/metrics"] = _samples(
            {
                "vllm:num_requests_running": 0,
                "vllm:num_requests_waiting": counters["waiting"],
                "vllm:prefix_cache_hits_total": counters["cached"],
            },
            start.name,
        )
    elif flavour == "sglang":
        model |= {"root": start.name, "max_model_len": context}
        found["/server_info"] = {
            "version": behaviour.version, "model_path": start.model, "tp_size": int(start.ranks), "ep_size": 1, "context_length": context,
            "kv_cache_dtype": start.kv or "auto", "moe_runner_backend": start.moe or "auto", "attention_backend": start.attention or None,
            "fp4_gemm_runner_backend": start.gemm or "auto", "speculative_algorithm": None, "max_running_requests": int(start.admission),
            "max_total_num_tokens": context, **behaviour.settings,
        }  # fmt: skip
    elif flavour == "llama_cpp":
        settings = {"n_ctx": context, "params": {"speculative.types": "none"}}
        found["/props"] = {
            "default_generation_settings": settings,
            "total_slots": int(start.admission),
            "model_path": start.model,
        }
        found["/metrics"] = _samples(
            {
                "llamacpp:requests_deferred": counters["waiting"],
                "llamacpp:prompt_tokens_cached_total": counters["cached"],
                "llamacpp:spec_decode_num_drafts_total": 0,
            }
        )
    return found


def _samples(values: dict[str, int], model: str = "") -> bytes:
    labels = f'{{engine="0",model_name="{model}"}}' if model else ""
    return "".join(f"{name}{labels} {float(value) if model else value}\n" for name, value in values.items()).encode()


def startup_lines(start: Started, behaviour: Behaviour) -> list[str]:
    """The lines that :mod:`vllm_log` and :mod:`sglang_log` read, as the real engines write them."""
    ranks = range(int(start.ranks))
    kv = start.kv or "auto"
    lines = [f"played engine, flavour {behaviour.flavour}: nothing is loaded and nothing is measured"]
    if behaviour.flavour == "vllm":
        arguments = {"model": start.model, "max_model_len": int(start.context), "max_num_seqs": int(start.admission)}
        arguments |= {"enable_expert_parallel": True} if start.experts_parallel else {}
        lines += [
            f"(APIServer pid=1) INFO [api_utils.py:1] non-default args: {arguments}",
            f"(EngineCore pid=2) INFO [core.py:1] Initializing a V1 LLM engine (v{behaviour.version}) with config: model='{start.model}', "
            f"speculative_config=None, dtype=torch.bfloat16, max_seq_len={start.context}, tensor_parallel_size={start.ranks}, "
            f"kv_cache_dtype={kv}, device_config=cpu",
            *(
                f"(Worker_TP{rank} pid={rank + 3}) INFO [model_runner.py:1] Model loading took 0.0 GiB and 0.1 seconds"
                for rank in ranks
            ),
            f"(EngineCore pid=2) INFO [kv_cache_utils.py:1] GPU KV cache size: {int(start.context):,} tokens",
        ]
    elif behaviour.flavour == "sglang":
        kind = {"fp8_e4m3": "torch.float8_e4m3fn"}.get(kv, "torch.bfloat16")
        for rank in ranks:
            lines += [
                f"[2026-01-01 00:00:00 TP{rank}] Load weight end. elapsed=0.10 s, type=Played, avail mem=0.00 GB, mem usage=0.00 GB.",
                f"[2026-01-01 00:00:00 TP{rank}] KV Cache is allocated. dtype: {kind}, #tokens: {start.context}, K size: 0.00 GB, V size: 0.00 GB",
            ]
    elif behaviour.flavour == "llama_cpp":
        lines.append(f"xllamacpp {behaviour.version}")
    return [*lines, *behaviour.log]
