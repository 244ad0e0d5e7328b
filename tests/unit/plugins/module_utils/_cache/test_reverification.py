"""A receipt vouches for what has not moved, and for nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import SnapshotReport, verify_snapshot
from ansible_collections.tandem.campaign.plugins.module_utils._cache.wanted import Wanted
from ansible_collections.tandem.campaign.tests.fakes.cache import (
    REPO,
    REVISION,
    blob,
    problem_of,
    repository,
    safetensors_cache,
    snapshot,
    verify,
    write_tree,
)

TWO = "model-00002-of-00002.safetensors"
ONE = "model-00001-of-00002.safetensors"


@pytest.fixture(autouse=True)
def _old_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """ctime can't be set, so the time after which a stamp is believed is taken away instead."""
    monkeypatch.setattr("ansible_collections.tandem.campaign.plugins.module_utils._cache.receipt.COARSE_NS", -(10**12))


def again(hub: Path, report: SnapshotReport, **wanted: Any) -> tuple[SnapshotReport, int]:
    """The next proof and how many bytes were read for it."""
    read: list[int] = []
    receipt = json.loads(json.dumps(report.receipt))
    done = verify_snapshot(
        hub,
        Wanted(REPO, REVISION, **wanted),
        "hash",
        lambda done, _total: read.append(done),
        receipt,
    )
    return done, (read[-1] if read else 0)


def test_an_unchanged_snapshot_is_not_read(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(hub)
    first = verify(hub)
    monkeypatch.setattr(Path, "open", lambda *_args: pytest.fail("a file was opened"))
    second, read = again(hub, first)
    assert (second.proof, second.files, second.reused, read) == (first.proof, first.files, 5, 0)
    assert second.verified_at == first.verified_at


def test_what_moved_is_read_again_and_nothing_else(hub: Path) -> None:
    first = verify(hub)
    file = snapshot(hub, TWO).resolve()
    before = file.stat()
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    second, read = again(hub, first)
    assert problem_of(second).file == TWO
    assert (read, second.reused) == (file.stat().st_size, 4)


def test_another_link_is_another_file(hub: Path) -> None:
    first = verify(hub)
    link = snapshot(hub, "tokenizer.json")
    target = link.readlink()
    link.unlink()
    link.symlink_to(snapshot(hub, "config.json").readlink())
    second, _read = again(hub, first)
    assert second.proof != first.proof
    link.unlink()
    link.symlink_to(target)
    assert again(hub, first)[0].proof == first.proof


def test_it_vouches_for_nothing_else(hub: Path, tmp_path: Path) -> None:
    first = verify(hub)
    assert again(hub, first, required_files=("config.json",))[1] == first.bytes
    other = safetensors_cache(tmp_path / "other")
    assert again(other, first)[1] == first.bytes
    (repository(hub) / "snapshots" / ("b" * 40)).symlink_to(REVISION)
    seen: list[int] = []
    moved = verify_snapshot(hub, Wanted(REPO, "b" * 40), "hash", lambda done, _total: seen.append(done), first.receipt)
    assert (seen[-1], moved.reused) == (first.bytes, 0)


def test_files_that_came_or_went(hub: Path) -> None:
    first = verify(hub)
    blob(hub, "generation_config.json", b"{}", git=True)
    more, read = again(hub, first)
    assert (len(more.files), read) == (6, 2)
    snapshot(hub, TWO).unlink()
    assert problem_of(again(hub, first)[0]).file == TWO


def test_a_new_listing_of_the_hub_counts(hub: Path) -> None:
    first = verify(hub)
    write_tree(hub, special_tokens_map__json=3)
    assert problem_of(again(hub, first)[0]).file == "special_tokens_map.json"


def test_a_writer_stops_it(hub: Path) -> None:
    first = verify(hub)
    (repository(hub) / "blobs" / f"{'9' * 64}.incomplete").write_bytes(b"x")
    assert problem_of(again(hub, first)[0]).expected == "no writer"


def test_a_broken_snapshot_gets_none(hub: Path) -> None:
    snapshot(hub, "config.json").unlink()
    assert verify(hub).receipt is None
