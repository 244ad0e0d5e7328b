"""What is judged of an image without asking Docker."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._images.image import (
    image_report,
    nccl_settings,
    platform_problem,
    repeated_entrypoint,
)

DIGEST = f"sha256:{'ab12' * 16}"
REFERENCE = f"registry.example/engine@{DIGEST}"


def test_the_platform_s_own_digest_is_the_third_value() -> None:
    """As the containerd store of engine 29 tells it (API 1.48: manifests in inspect)."""
    manifest = {
        "ID": "sha256:f0b9",
        "Available": True,
        "Kind": "image",
        "ImageData": {"Platform": {"architecture": "amd64", "os": "linux"}},
    }
    other = {
        "ID": "sha256:0000",
        "Available": False,
        "Kind": "image",
        "ImageData": {"Platform": {"architecture": "arm64", "os": "linux"}},
    }
    document = {
        "Id": DIGEST,
        "RepoDigests": [REFERENCE],
        "Os": "linux",
        "Architecture": "amd64",
        "Manifests": [other, manifest],
        "Config": {},
    }
    report = image_report(REFERENCE, document, [])
    assert (report["index_digest"], report["platform_digest"], report["problems"]) == (DIGEST, "sha256:f0b9", [])
    assert platform_problem(report, "x86_64") is None
    assert platform_problem(report, "amd64") is None
    assert "linux/arm64" in str(platform_problem(report, "aarch64"))


def test_case_d13_both_forms() -> None:
    (absent,) = image_report(REFERENCE, None, [])["problems"]
    assert DIGEST in absent
    listing = [
        {
            "RepoTags": ["registry.example/engine:latest"],
            "RepoDigests": [f"registry.example/engine@sha256:{'cd34' * 16}"],
        }
    ]
    (mismatch,) = image_report(REFERENCE, None, listing)["problems"]
    assert f"registry.example/engine:latest is there with sha256:{'cd34' * 16}, which is another image" in mismatch


@pytest.mark.parametrize(
    ("entrypoint", "argv", "repeated"),
    [
        (["engine", "serve"], ["engine", "serve", "engine", "serve", "m"], "engine serve"),
        (["engine", "serve"], ["engine", "serve", "serve", "m"], "serve"),
        (["engine", "serve"], ["engine", "serve", "--model", "m"], None),
        (["/wrap.sh"], ["python3", "-m", "engine"], None),
        ([], ["engine"], None),
    ],
)
def test_case_d14_a_command_that_repeats_the_entrypoint(
    entrypoint: list[str], argv: list[str], repeated: str | None
) -> None:
    assert repeated_entrypoint(entrypoint, argv) == repeated


def test_nccl_conf() -> None:
    assert nccl_settings("# x\nNCCL_P2P_LEVEL=SYS\n NCCL_DEBUG = INFO # y\nnothing\n") == {
        "NCCL_P2P_LEVEL": "SYS",
        "NCCL_DEBUG": "INFO",
    }
