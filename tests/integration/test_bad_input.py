"""Bad input: one clear message (file, key, way out) each, before any service is touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, DemoHost

RECIPES = ROOT / "tests" / "fixtures" / "recipes"
ARGS = 'args = [["--cache-ram", "0"], ["--threads", "1"]]'
WEIGHTS = "models--tandem-demo--SmolLM2-135M-Instruct-GGUF"


@pytest.fixture(autouse=True)
def untouched(demo_host: DemoHost) -> Iterator[None]:
    """Whatever the input, the owner's processes are the very same afterwards, and nothing is reserved."""
    before = demo_host.processes()
    yield
    assert demo_host.processes() == before
    assert not (demo_host.state_dir / "reservation").exists()


def changed_recipe(folder: Path, old: str, new: str) -> dict[str, Any]:
    """The quick recipe with one thing changed."""
    shutil.copytree(RECIPES / "locks", folder / "locks")
    text = (RECIPES / "quick.toml").read_text()
    assert old in text
    (folder / "quick.toml").write_text(text.replace(old, new, 1))
    return {"campaign_recipe_paths": [str(folder)]}


def copied_cache(host: DemoHost, folder: Path, harm: Callable[[Path], None]) -> dict[str, Any]:
    """A copy of the cache whose weight file was harmed."""
    shutil.copytree(host.folder / "cache" / "hub" / WEIGHTS, folder / WEIGHTS, symlinks=True)
    harm(folder / WEIGHTS)
    return {"campaign_cache": {"path": str(folder)}}


def cut(repository: Path) -> None:
    (blob,) = (repository / "blobs").iterdir()
    with blob.open("r+b") as stream:
        stream.truncate(90_000_000)


def flip(repository: Path) -> None:
    (blob,) = (repository / "blobs").iterdir()
    with blob.open("r+b") as stream:
        stream.seek(50_000_000)
        byte = stream.read(1)[0]
        stream.seek(50_000_000)
        stream.write(bytes([byte ^ 1]))


@pytest.mark.parametrize(
    ("extra", "messages"),
    [
        ({"campaign_recipes": ["nope"]}, ["campaign_recipes: no recipe 'nope' in", "there are: "]),
        (
            {"campaign_modes": {"split": {"services": ["ghost"]}}},
            ["campaign_modes.split: unknown service 'ghost'", "declared in campaign_services: omni, router"],
        ),
        (
            {"campaign_gpu_roles": {"compute_b": {"kind": "cpu"}}},
            ["service omni: role 'compute_a' is not declared in campaign_gpu_roles"],
        ),
        (
            {"campaign_state_dir": "/dev/null/state"},
            ["campaign_state_dir /dev/null/state can't be written", "choose another"],
        ),
        ({"campaign_min_free_gib": 99999}, ["GiB free, evidence needs 99999 (campaign_min_free_gib)"]),
        (
            {"campaign_engine_environments": {"llama_cpp": {"python": "/nonexistent/python"}}},
            ["campaign_engine_environments.llama_cpp.python", "No such file"],
        ),
        (
            {"campaign_engine_environments": {"llama_cpp": {"python": "/usr/bin/python3"}}},
            ["xllamacpp is not installed", "pip install xllamacpp=="],
        ),
        ({"ansible_python_interpreter": "/nonexistent/python"}, ["/nonexistent/python", "interpreter"]),
        (
            {"campaign_cache": {"path": "/nonexistent/hub"}},
            [f"no {WEIGHTS} in /nonexistent/hub", "complete this revision first"],
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_inventory(demo_host: DemoHost, extra: dict[str, Any], messages: list[str]) -> None:
    done = demo_host.campaign(**extra)
    assert done.returncode != 0, done.stdout
    for message in messages:
        assert message in done.stdout + done.stderr


def test_a_port_that_is_taken(demo_host: DemoHost) -> None:
    done = demo_host.campaign(campaign_port=demo_host.port + 1)
    assert done.returncode == 2
    assert (
        f"port {demo_host.port + 1} is taken on this host (what answers there lists omni); free it or set campaign_port"
        in " ".join(done.stdout.split())
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "quick"', 'name = "quick"\ncolour = "red"', "recipe 'quick'.colour: no such key"),
        ('name = "dies-at-load"', 'name = "quick"', "already stands in"),
        ("4e26ee230af0d4b8c9df94a0fa3ffe1a38e7c893", "4e26ee230af0", "revision '4e26ee230af0' is not a full commit"),
        (ARGS, 'env = { CUDA_VISIBLE_DEVICES = "0" }', "belongs to the contract"),
        (ARGS, 'args = [["--main-gpu", "1"]]', "names devices of a host"),
        ("4e26ee230af0d4b8c9df94a0fa3ffe1a38e7c893", "5" * 40, "a folder named by the pinned revision"),
    ],
)
def test_recipe(demo_host: DemoHost, tmp_path: Path, old: str, new: str, message: str) -> None:
    done = demo_host.campaign(**changed_recipe(tmp_path, old, new))
    assert done.returncode == 2
    assert message in done.stdout
    assert "quick" in done.stdout


@pytest.mark.parametrize(("harm", "message"), [(cut, "its tensor table needs"), (flip, "expected sha256 b179c9523d0e")])
def test_weights(demo_host: DemoHost, tmp_path: Path, harm: Callable[[Path], None], message: str) -> None:
    done = demo_host.campaign(**copied_cache(demo_host, tmp_path, harm))
    assert done.returncode == 2
    assert message in done.stdout
    assert "SmolLM2-135M-Instruct.Q4_1.gguf" in done.stdout
