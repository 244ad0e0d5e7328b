"""Evidence is written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import Lines, read_json, write_json
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, EvidenceError


def test_write_and_read(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "x.json", {"b": 1, "é": "ü"})
    assert read_json(tmp_path / "a" / "x.json") == {"b": 1, "é": "ü"}
    assert os.listdir(tmp_path / "a") == ["x.json"]


def test_a_failed_write_leaves_the_old_file_and_no_scrap(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"old": True})
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "x.json", {"new": float("inf")})
    assert read_json(tmp_path / "x.json") == {"old": True}
    assert os.listdir(tmp_path) == ["x.json"]


def test_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CampaignError, match="can't be written"):
        write_json(tmp_path / "file" / "x.json", {})


def test_no_space_says_the_way_out() -> None:
    with pytest.raises(CampaignError, match=r"no space left.*campaign_state_dir"):
        Lines(Path("/dev/full"), {}).append({"a": 1})


def test_damage_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(EvidenceError, match=r"x\.json can't be read"):
        read_json(tmp_path / "x.json")
    with pytest.raises(EvidenceError, match=r"y\.json is missing"):
        read_json(tmp_path / "y.json")


def test_lines_have_their_header_once(tmp_path: Path) -> None:
    for value in (1, 2):
        lines = Lines(tmp_path / "rows.jsonl", {"schema": "tandem.rows/v1"})
        lines.append({"value": value})
        lines.close()
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == [
        {"schema": "tandem.rows/v1"},
        {"value": 1},
        {"value": 2},
    ]
