"""A cache that somebody writes to is noticed."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache import hashing
from ansible_collections.tandem.campaign.plugins.module_utils._cache.problem import Problem
from ansible_collections.tandem.campaign.tests.fakes.cache import (
    problem_of,
    repository,
    snapshot,
    verify,
)

TWO = "model-00002-of-00002.safetensors"
ONE = "model-00001-of-00002.safetensors"


def test_a_lock_that_is_held(hub: Path) -> None:
    locks = hub / ".locks" / "models--example--tiny"
    locks.mkdir(parents=True)
    with (locks / "etag.lock").open("w") as lock:
        assert verify(hub).problems == ()
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "a download in progress" in problem_of(verify(hub)).found


def test_a_blob_that_grows(hub: Path) -> None:
    (repository(hub) / "blobs" / f"{'9' * 64}.1a2b3c4d.incomplete").write_bytes(b"x")
    assert problem_of(verify(hub)).expected == "no writer"


def test_an_abandoned_blob_of_this_snapshot_or_of_another(hub: Path) -> None:
    own = snapshot(hub, ONE).readlink().name
    for etag in (own, "9" * 64):
        partial = repository(hub) / "blobs" / f"{etag}.incomplete"
        partial.write_bytes(b"x")
        os.utime(partial, (time.time() - 1000,) * 2)
    report = verify(hub)
    assert problem_of(report).file == f"blobs/{own}.incomplete"
    assert [text for text in report.caveats if "999" in text]


def test_a_file_that_is_written_while_it_is_read(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = hashing.content_hashes

    def slow(path: Path, *args: Any) -> Any:
        if path.name == TWO:
            path.resolve().write_bytes(path.read_bytes())
        return real(path, *args)

    monkeypatch.setattr(hashing, "content_hashes", slow)
    assert problem_of(verify(hub)) == Problem(
        TWO, "to stay as it is while it is read", "that somebody writes to it now"
    )
