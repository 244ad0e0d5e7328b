"""What vLLM and SGLang say of themselves: from recorded pages and logs of real ones, and from shapes in their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Client
from ansible_collections.tandem.campaign.plugins.module_utils._engine import sglang_log, vllm_log
from ansible_collections.tandem.campaign.plugins.module_utils._engine.adapters import (
    ADAPTERS,
    adapter_for,
    endpoint_adapter,
    endpoint_engine,
)
from ansible_collections.tandem.campaign.plugins.module_utils._engine.facts import LiveFacts, Rank
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import Reasoning
from ansible_collections.tandem.campaign.tests.fakes.recordings import LLAMA_CPP, VLLM, answer
from ansible_collections.tandem.campaign.tests.fakes.server import Answer, scripted

#: Twelve lines of the startup log of vLLM 0.25.1 with two ranks on two H200s, 2026-11-30.
VLLM_LOG = (Path(__file__).resolve().parents[4] / "fixtures" / "engines" / "vllm-0.25.1-tp2.log").read_text()
VLLM_PAGES: dict[str, Any] = {
    "/version": {"version": "0.25.1"},
    "/v1/models": {
        "object": "list",
        "data": [{"id": "smollm2-tp2", "owned_by": "vllm", "root": "/models/smollm2-tp2", "max_model_len": 8192}],
    },
    "/metrics": b'vllm:num_requests_running{engine="0"} 0.0\nvllm:prefix_cache_hits_total{engine="0",model_name="m"} 48.0\n',
    "/tokenize": {"count": 2, "max_model_len": 8192, "tokens": [28120, 905]},
}
#: Keys of /server_info as sglang 0.5.16 writes them (http_server.py, scheduler.py); the scheduler's own copy has the resolved names.
SGLANG_PAGES: dict[str, Any] = {
    "/server_info": {
        "version": "0.5.16", "model_path": "/hf/hub/m", "tp_size": 2, "ep_size": 1, "kv_cache_dtype": "auto", "moe_runner_backend": "auto",
        "attention_backend": None, "fp4_gemm_runner_backend": "marlin", "fp8_gemm_runner_backend": "auto", "max_running_requests": 4,
        "context_length": 32768, "speculative_algorithm": None, "max_total_num_tokens": 117504,
        "internal_states": [{"moe_runner_backend": "marlin", "attention_backend": "triton", "effective_max_running_requests_per_dp": 1}],
    },
    "/v1/models": {"data": [{"id": "m", "root": "m", "max_model_len": 32768}]},
}  # fmt: skip
SGLANG_LOG = """[2026-08-01 10:00:00 TP0] Load weight end. elapsed=61.02 s, type=Inkling, avail mem=9.20 GB, mem usage=85.93 GB.
[2026-08-01 10:00:01 TP1] Load weight end. elapsed=61.90 s, type=Inkling, avail mem=8.30 GB, mem usage=86.90 GB.
[2026-08-01 10:00:02 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 117504, K size: 1.30 GB, V size: 1.30 GB
[2026-08-01 10:00:02 TP1] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 117504, K size: 1.30 GB, V size: 1.30 GB
[2026-08-01 10:00:02 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 11776, K size: 0.27 GB, V size: 0.27 GB
[2026-08-01 10:00:09 TP0] Capture decode CUDA graph end. elapsed=6.40 s, mem usage=0.31 GB, avail mem=5.10 GB.
"""


def live(engine: str, pages: dict[str, Any], log: str) -> LiveFacts:
    with scripted(lambda _method, path, _body: (200, pages[path]) if path in pages else (404, {})) as server:
        return adapter_for(engine).live_facts(Client(server.url), log)


def test_vllm() -> None:
    facts = live("vllm", VLLM_PAGES, VLLM_LOG)
    assert (facts.version, facts.context_tokens, facts.max_requests) == ("0.25.1", 8192, 1)
    assert (facts.model_path, facts.speculative, facts.kv_tokens) == ("/models/smollm2-tp2", "off", 1933472)
    assert facts.settings == {
        "tensor_parallel": "2", "expert_parallel": "off", "kv_cache_dtype": "torch.bfloat16", "attention_backend": "FLASH_ATTN",
    }  # fmt: skip
    # Only the first rank writes its KV cache.
    assert facts.ranks == (Rank(0, 0.14, 27.66), Rank(1, 0.14))


def test_vllm_s_drafts_are_seen_in_its_metrics_too() -> None:
    pages = {**VLLM_PAGES, "/metrics": b"vllm:spec_decode_num_drafts_total 0.0\n"}
    assert live("vllm", pages, VLLM_LOG).speculative == "on: the engine counts drafted tokens"
    assert live("vllm", {**VLLM_PAGES, "/metrics": b""}, VLLM_LOG).speculative is None
    told = VLLM_LOG.replace(
        "speculative_config=None", "speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=1)"
    )
    assert live("vllm", VLLM_PAGES, told).speculative == "SpeculativeConfig(method='mtp', num_spec_tokens=1)"


def test_vllm_s_backends() -> None:
    log = """(Worker_TP0 pid=1) INFO [nvfp4.py:1] Using 'FLASHINFER_CUTLASS' NvFp4 MoE backend out of potential backends: ['A']
(Worker_TP0 pid=1) INFO [__init__.py:1] Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM
(Worker_TP1 pid=2) INFO [gpu_model_runner.py:9] Graph capturing finished in 12 secs, took 0.84 GiB
"""
    assert vllm_log.settings_of(log) == {
        "moe_backend": "FLASHINFER_CUTLASS",
        "gemm_backend": "FlashInferCutlassNvFp4LinearKernel",
    }
    assert vllm_log.ranks_of(log) == (Rank(1, graph_gib=0.84, graph_s=12.0),)


def test_a_vllm_without_its_log_tells_little_and_nothing_is_guessed() -> None:
    facts = live("vllm", VLLM_PAGES, "")
    assert (facts.max_requests, facts.speculative, facts.settings, facts.ranks) == (None, None, {}, ())


def test_vllm_counts() -> None:
    with scripted(lambda _method, path, _body: (200, VLLM_PAGES[path])) as server:
        adapter, client = adapter_for("vllm"), Client(server.url)
        assert adapter.count_tokens(client, [{"role": "user", "content": "hello world"}]) == 2
        assert adapter.cached_prompt_tokens(client) == 48


def test_sglang() -> None:
    facts = live("sglang", SGLANG_PAGES, SGLANG_LOG)
    assert (facts.version, facts.context_tokens, facts.max_requests) == ("0.5.16", 32768, 1)
    assert (facts.model_path, facts.speculative, facts.kv_tokens) == ("/hf/hub/m", "off", 117504)
    assert facts.settings == {
        "tensor_parallel": "2", "expert_parallel": "1", "moe_backend": "marlin", "attention_backend": "triton", "gemm_backend": "marlin",
        "kv_cache_dtype": "torch.bfloat16",
    }  # fmt: skip
    assert facts.ranks == (Rank(0, 85.93, 3.14, 0.31, 6.4), Rank(1, 86.9, 2.6))


def test_sglang_with_one_rank_and_a_draft() -> None:
    log = "[2026-08-01 10:00:00] Load weight end. elapsed=1.00 s, type=X, avail mem=9.20 GB, mem usage=3.50 GB.\n"
    assert sglang_log.ranks_of(log) == (Rank(0, 3.5),)
    pages = {**SGLANG_PAGES, "/server_info": {**SGLANG_PAGES["/server_info"], "speculative_algorithm": "EAGLE"}}
    assert live("sglang", pages, log).speculative == "EAGLE"
    assert live("sglang", {}, log).speculative is None


def pages_of(engine: str, names: dict[str, str]) -> Any:
    """A script that plays recordings by path; what was not recorded is not there."""

    def script(_method: str, path: str, _body: Any) -> Answer:
        return answer(engine, names[path]) if path in names else (404, {})

    return script


def test_recorded_pages_of_vllm() -> None:
    names = {"/version": "version", "/v1/models": "models", "/metrics": "metrics-after", "/tokenize": "tokenize"}
    with scripted(pages_of(VLLM, names)) as server:
        adapter, client = adapter_for("vllm"), Client(server.url)
        facts = adapter.live_facts(client, VLLM_LOG)
        assert (facts.version, facts.context_tokens, facts.model_path) == ("0.25.1", 8192, "/models/smollm2-tp2")
        assert (facts.max_requests, facts.speculative) == (1, "off")
        # Of 81,288 asked for; the sum over labels, and not the other counters whose names begin alike.
        assert adapter.cached_prompt_tokens(client) == 416
        assert adapter.count_tokens(client, [{"role": "user", "content": "hello world"}]) == 2


def test_recorded_pages_of_llama_cpp() -> None:
    names = {
        "/props": "props",
        "/metrics": "metrics-after",
        "/apply-template": "apply-template",
        "/tokenize": "tokenize",
    }
    with scripted(pages_of(LLAMA_CPP, names)) as server:
        adapter, client = adapter_for("llama_cpp"), Client(server.url)
        facts = adapter.live_facts(client, "xllamacpp 0.2.5\n")
        assert (facts.version, facts.context_tokens, facts.max_requests) == ("0.2.5", 2048, 1)
        assert (facts.model_path, facts.speculative) == ("/hf/hub/model.gguf", "off")
        assert adapter.cached_prompt_tokens(client) == 136
        assert adapter.count_tokens(client, [{"role": "user", "content": "hello world"}]) == 2


def test_an_address_is_known_by_the_owner_that_it_names() -> None:
    for engine, known in ((VLLM, "vllm"), (LLAMA_CPP, "llama_cpp")):
        with scripted(pages_of(engine, {"/v1/models": "models"})) as server:
            assert endpoint_engine(Client(server.url)) == known
    pages: list[Any] = [{"data": [{"id": "m", "owned_by": "somebody"}]}, {"data": "none"}, {}]
    with scripted(lambda _method, _path, _body: (200, pages.pop())) as server:
        assert [endpoint_engine(Client(server.url)) for _page in range(3)] == ["openai"] * 3


def test_the_common_ground_guesses_nothing() -> None:
    adapter = endpoint_adapter("somebody's")
    with scripted(lambda _method, _path, _body: (404, {})) as server:
        client = Client(server.url)
        assert adapter.live_facts(client, "") == LiveFacts(None, None, None, None, None)
        assert (adapter.count_tokens(client, []), adapter.cached_prompt_tokens(client)) == (None, None)
    assert endpoint_adapter("vllm") is ADAPTERS["vllm"]
    assert adapter.sampling == {}


def test_switches_by_engine() -> None:
    """llama.cpp's server has no effort of its own; the template's variables carry it."""
    effort, kwargs = Reasoning(mode="effort", effort="low"), Reasoning(mode="off", kwargs={"enable_thinking": False})
    for engine in ("vllm", "sglang"):
        assert adapter_for(engine).switches(effort) == {"reasoning_effort": "low"}
        assert adapter_for(engine).switches(kwargs) == {"chat_template_kwargs": {"enable_thinking": False}}
        assert adapter_for(engine).sampling == {"repetition_penalty": 1.0}
    assert adapter_for("llama_cpp").switches(effort) == {"chat_template_kwargs": {"reasoning_effort": "low"}}
    assert adapter_for("llama_cpp").switches(Reasoning()) == {}
