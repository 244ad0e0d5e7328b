"""A receipt on disk: read back as it was, and as good as none where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.receipts import keep_receipt, read_receipt
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import verify_snapshot
from ansible_collections.tandem.campaign.plugins.module_utils._cache.wanted import Wanted
from ansible_collections.tandem.campaign.tests.fakes.cache import REPO, REVISION, safetensors_cache, verify

WANTED = {"repo": REPO, "revision": REVISION}


def test_there_and_back(tmp_path: Path) -> None:
    made = verify_snapshot(safetensors_cache(tmp_path / "hub"), Wanted(REPO, REVISION), "hash").receipt
    assert made is not None
    keep_receipt(tmp_path / "receipts", "place", WANTED, made)
    assert read_receipt(tmp_path / "receipts", "place", WANTED) == json.loads(json.dumps(made))
    assert read_receipt(tmp_path / "receipts", "elsewhere", WANTED) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema": "tandem.snapshot-receipt/v1"}', '{"schema": "other"}']
)
def test_one_that_is_damaged(tmp_path: Path, text: str) -> None:
    keep_receipt(tmp_path, "place", WANTED, {"schema": "x"})
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    assert read_receipt(tmp_path, "place", WANTED) is None


def test_a_file_written_just_now_is_not_vouched_for(hub: Path) -> None:
    first = verify(hub)
    assert first.receipt is not None
    assert first.receipt["files"] == {}
    seen: list[int] = []
    verify_snapshot(hub, Wanted(REPO, REVISION), "hash", lambda done, _total: seen.append(done), first.receipt)
    assert seen[-1] == first.bytes
