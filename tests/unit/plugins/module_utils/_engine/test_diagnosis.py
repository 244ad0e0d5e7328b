"""The cause in a log is the first known sign, not the consequence that is printed last; and what each known sign says."""

from __future__ import annotations

import re

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._engine.diagnosis import Finding, diagnose, warnings_in
from ansible_collections.tandem.campaign.plugins.module_utils._host.probe import recent_kernel_faults
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import InputError
from ansible_collections.tandem.campaign.plugins.plugin_utils.signatures import known_signatures, own_signatures

SIGNATURES = own_signatures()
CONTRACT = {"NCCL_P2P_DISABLE": "1", "NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0"}


def found_in(log: str, environment: dict[str, str] | None = None, *, stalled: bool = False) -> Finding:
    found = diagnose(log, SIGNATURES, environment, stalled=stalled)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("log", "cause", "says"),
    [
        ("ModuleNotFoundError: No module named 'accelerate'", "module-missing", "accelerate"),
        (
            "ValueError: invalid literal for int() with base 10: 'GPU-00000000-0000-4000-8000-0000000000b2'\n"
            "pydantic: 1 validation error: model architectures failed to be inspected",
            "device-ids",
            "CUDA_VISIBLE_DEVICES",
        ),
        (
            "engine: error: unrecognized arguments: serve example-org/tiny-moe-nvfp4",
            "arguments-rejected",
            "serve example-org/tiny-moe-nvfp4",
        ),
        (
            "ValueError: Free memory on device cuda:0 (31.44/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB).",
            "gpu-not-empty",
            "31.44 GiB of 47.38 GiB free, 45.01 GiB wanted",
        ),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "architecture-missing",
            "kernel image",
        ),
        (
            "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
            "port-taken",
            "already in use",
        ),
        (
            "vllm: error: argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto', 'fp8')",
            "argument-value-rejected",
            "--kv-cache-dtype: invalid choice: 'fp9'",
        ),
        (
            "ValueError: To serve at least one request with the models's max seq len (262144), (6.00 GiB KV cache is needed, which is larger than the "
            "available KV cache memory (3.14 GiB).",
            "cache-too-small",
            "The context of 262144 tokens needs 6.00 GiB of KV cache, 3.14 GiB are left",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity",
            "gpu-memory-full",
            "2.00 GiB",
        ),
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver",
            "driver-too-old",
            "cuda>=13.0",
        ),
        ("RuntimeError: No CUDA GPUs are available", "no-gpu-visible", "sees no GPU"),
        (
            "Error: failed to extend /dev/shm/nccl-AbCdEf to 33030528 bytes, error: No space left on device (28)",
            "shared-memory-full",
            "limits.shm_gib",
        ),
        (
            "PermissionError: [Errno 13] Permission denied: '/hf/hub/models--a--b/blobs/00ff'",
            "file-unreadable",
            "/hf/hub/models--a--b/blobs/00ff",
        ),
        (
            "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files",
            "asked-the-network",
            "offline by design",
        ),
        ("exec /usr/bin/python3: exec format error", "wrong-processor", "another processor"),
        ("[FATAL tini (7)] exec engine-serve failed: No such file or directory", "entrypoint-missing", "engine-serve"),
        ("exec: engine-serve: not found", "entrypoint-missing", "engine-serve"),
    ],
)
def test_known_signs(log: str, cause: str, says: str) -> None:
    """Cases D1, B3, D14, D11, D10, D7, J11. The evidence line is the log's own."""
    found = found_in(f"loading\n{log}\n")
    assert (found.cause, says in found.sentence()) == (cause, True)
    assert found.line in log
    assert not any(word in found.meaning for word in ("unsupported", "does not fit", "lower"))


RANKS = "ws01:212:301 [0] NCCL WARN {0}\nws01:213:302 [1] NCCL WARN {0}\nworker: RuntimeError: NCCL error: unhandled cuda error\n"
CUMEM = RANKS.format("ncclCuMemMapAndSetAccess: Cuda failure 999 'unknown error'")


def test_cumem_999_names_what_the_start_lacked_and_that_the_ranks_agree() -> None:
    """Case A1."""
    text = found_in(CUMEM, {"NCCL_P2P_DISABLE": "1"}).sentence()
    assert "999" in text
    assert "(ranks 0, 1 agree)" in text
    assert "The start lacks NCCL_CUMEM_ENABLE=0 and NCCL_CUMEM_HOST_ENABLE=0" in text
    assert not any(word in text for word in ("out of memory", "increase the timeout"))
    assert "lacks" not in found_in(CUMEM, CONTRACT).sentence()


@pytest.mark.parametrize(
    ("log", "cause", "says"),
    [
        # Case A5
        ("Failed: Cuda error custom_all_reduce.cuh:455 'invalid argument'\nengine core: worker 0 died", "allocator-clash", "expandable_segments"),
        # Case A7
        ("symmetric memory rendezvous, logits gather, world size 2\nFatal Python error: Floating point exception", "symm-mem-sigfpe", "first generation"),
        ("Fatal Python error: Floating point exception", "sigfpe", "SIGFPE"),
        # Case A8: the kernel's own line names it
        ("rank 0: CUDA driver error: device not ready\nkernel: misc dxg: dxgkio_make_resident: Ioctl failed: -12", "wsl-residency", "memory resident"),
        # Case C14
        ("OfflineModeIsEnabled\ncannot reach hub for o/m/resolve/main/hf_quant_config.json", "revision-blind", "hf_quant_config.json at main although"),
        ("OutOfResources: out of resource: shared memory, Required: 110592, Hardware limit: 101376.", "shared-memory-of-the-device", "wants 110592 bytes"),
        ("RuntimeError: Helion kernel not tuned yet for silu_and_mul_interleaved", "helion-untuned", "inkling-sm120"),
        ("NCCL WARN Could not enable P2P between dev 0(=60) and dev 1(=70)", "p2p-setup", "lacks NCCL_P2P_DISABLE=1"),
        ("ws:1:1 [0] NCCL WARN Cuda failure 'out of memory'", "nccl-cuda-failure", "out of memory"),
        ("No transport found for rank 0[0] -> rank 1[1]", "no-transport", "NCCL_SHM_DISABLE=0"),
    ],
)  # fmt: skip
def test_the_published_campaign_s_ladder(log: str, cause: str, says: str) -> None:
    found = found_in(log)
    assert (found.cause, says in found.sentence()) == (cause, True), found.sentence()


def test_a_residency_fault_blames_neither_allocator_nor_contract() -> None:
    text = found_in("RuntimeError: CUDA driver error: device not ready", CONTRACT).sentence()
    assert "NCCL_CUMEM" not in text
    assert "expandable" not in text
    assert "--gpu-memory-utilization" in text


INITIALISED = "ws01:91:91 [0] NCCL INFO comm rank 0 - Init COMPLETE\nws01:92:92 [1] NCCL INFO comm rank 1 - Init COMPLETE\nfirst all_reduce\n"


def test_silence_after_init_points_at_p2p_and_only_silence_does() -> None:
    """Case A3."""
    text = found_in(INITIALISED, stalled=True).sentence()
    assert "direct P2P" in text
    assert "lacks NCCL_P2P_DISABLE=1" in text
    assert diagnose(INITIALISED, SIGNATURES) is None
    channels = INITIALISED + "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
    assert diagnose(channels, SIGNATURES, stalled=True) is None
    assert found_in(INITIALISED + "exec format error", stalled=True).cause == "wrong-processor"


def test_where_is_named_for_what_depends_on_it() -> None:
    log = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    assert "(image x@sha256:1; NVIDIA, compute capability 12.0)" in found_in(log).sentence(
        "image x@sha256:1; NVIDIA, compute capability 12.0"
    )


def test_nothing_known() -> None:
    assert diagnose("loading\nRuntimeError: something new\n", SIGNATURES) is None


def test_warnings_of_a_load_that_succeeded() -> None:
    log = (
        "(APIServer pid=17) WARNING 11-30 22:28:22 [system_utils.py:299] Found ulimit of 20000\n"
        "(APIServer pid=17) WARNING 11-30 22:28:23 [system_utils.py:299] Found ulimit of 20001\n"
        "The tokenizer you are loading with an incorrect regex pattern: set fix_mistral_regex=True\n"
        "torch/x.py:3: UserWarning: something \x1b[31mred\n"
        "INFO all is well\n"
    )
    found = warnings_in(log, SIGNATURES)
    assert [(item.signature, item.caveat, item.proof) for item in found.known] == [
        ("tokenizer-regex", "tokenizer-regex-warning", "token-ids")
    ]
    assert len(found.unknown) == 2
    assert "\x1b" not in "".join(found.unknown)


def test_every_signature_says_where_it_comes_from() -> None:
    assert len({item.id for item in SIGNATURES}) == len(SIGNATURES)
    for item in SIGNATURES:
        assert all((item.source, item.action, item.meaning))
        assert set(item.instead_of) <= {other.id for other in SIGNATURES}
        # A pattern that backtracks without end would hang a load's own fault.
        re.search(item.pattern, ("NCCL WARN Cuda failure symm_mem /dev/shm (1) " * 2000) + "x")


def test_signatures_of_the_inventory() -> None:
    own = {
        "id": "mine",
        "pattern": "E7: (\\d+)",
        "meaning": "the riser of slot {0} is loose",
        "action": "seat it",
        "source": "our rack",
    }
    found = diagnose("E7: 3\nexec format error", known_signatures([own]))
    assert found is not None
    assert found.sentence() == "the riser of slot 3 is loose. Way out: seat it. Evidence: E7: 3"
    replaced = known_signatures([{**own, "id": "wrong-processor"}])
    assert len(replaced) == len(SIGNATURES)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pattern": "("}, "is no pattern"),
        ({"pattern": "x*"}, "matches everything"),
        ({"meaning": "slot {3}"}, "names a group that the pattern does not have"),
        ({"kind": "rumour"}, "kind"),
        ({"kind": "warning"}, "a warning needs caveat"),
        ({"proof": "token-ids"}, "proof belongs to a warning"),
        ({"kind": "warning", "caveat": "c", "proof": "a look"}, "proof"),
        ({"contract": ["NCCL_P2P_DISABLE"]}, "is not NAME=value"),
        ({"more": 1}, "no such key"),
    ],
)
def test_signatures_that_are_none(change: dict[str, object], says: str) -> None:
    own = {"id": "mine", "pattern": "E7", "meaning": "m", "action": "a", "source": "s", **change}
    with pytest.raises(InputError, match="campaign_signatures") as caught:
        known_signatures([own])
    assert says in str(caught.value)


def test_the_kernel_s_lines_about_gpus() -> None:
    log = (
        "[  10.5] usb 1-1: new device\n[ 912.10] misc dxg: dxgkio_make_resident: Ioctl failed: -12\n"
        "[ 5.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus\nno stamp dxgk\n"
    )
    assert recent_kernel_faults(log, 100.0) == ["kernel: misc dxg: dxgkio_make_resident: Ioctl failed: -12"]
    assert len(recent_kernel_faults(log, 0.0)) == 2
