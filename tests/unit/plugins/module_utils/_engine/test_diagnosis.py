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
