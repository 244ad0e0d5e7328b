"""The cause in a startup log is the first known sign, not the consequence that is printed last."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.diagnosis import diagnose


@pytest.mark.parametrize(
    ("log", "cause", "says"),
    [
        ("ModuleNotFoundError: No module named 'accelerate'", "module_missing", "accelerate"),
        (
            "ValueError: invalid literal for int() with base 10: 'GPU-00000000-0000-4000-8000-0000000000b2'\n"
            "pydantic: 1 validation error: model architectures failed to be inspected",
            "device_ids",
            "CUDA_VISIBLE_DEVICES",
        ),
        (
            "engine: error: unrecognized arguments: serve example-org/tiny-moe-nvfp4",
            "arguments_rejected",
            "serve example-org/tiny-moe-nvfp4",
        ),
        (
            "ValueError: Free memory on device cuda:0 (31.44/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB).",
            "gpu_not_empty",
            "31.44 GiB of 47.38 GiB free, 45.01 GiB wanted",
        ),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "architecture_missing",
            "kernel image",
        ),
        (
            "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
            "port_taken",
            "already in use",
        ),
        (
            "vllm: error: argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto', 'fp8')",
            "arguments_rejected",
            "--kv-cache-dtype: invalid choice: 'fp9'",
        ),
        (
            "ValueError: To serve at least one request with the models's max seq len (262144), (6.00 GiB KV cache is needed, which is larger than the "
            "available KV cache memory (3.14 GiB).",
            "cache_too_small",
            "The context of 262144 tokens needs 6.00 GiB of KV cache, 3.14 GiB are left",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity",
            "gpu_memory_full",
            "2.00 GiB",
        ),
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver",
            "driver_too_old",
            "needs 13.0",
        ),
        ("RuntimeError: No CUDA GPUs are available", "no_gpu_visible", "sees no GPU"),
        (
            "Error: failed to extend /dev/shm/nccl-AbCdEf to 33030528 bytes, error: No space left on device (28)",
            "shared_memory_full",
            "limits.shm_gib",
        ),
        (
            "PermissionError: [Errno 13] Permission denied: '/hf/hub/models--a--b/blobs/00ff'",
            "file_unreadable",
            "/hf/hub/models--a--b/blobs/00ff",
        ),
        (
            "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files",
            "asked_the_network",
            "offline by design",
        ),
        ("exec /usr/bin/python3: exec format error", "wrong_processor", "another processor"),
        ("[FATAL tini (7)] exec engine-serve failed: No such file or directory", "entrypoint_missing", "engine-serve"),
        ("exec: engine-serve: not found", "entrypoint_missing", "engine-serve"),
    ],
)
def test_known_signs(log: str, cause: str, says: str) -> None:
    """Cases D1, B3, D14, D11, D10, D7, J11."""
    found = diagnose(f"loading\n{log}\n")
    assert found is not None
    assert (found.cause, says in found.text) == (cause, True)
    assert not any(word in found.text for word in ("unsupported", "does not fit", "lower"))


def test_nothing_known() -> None:
    assert diagnose("loading\nRuntimeError: something new\n") is None
