"""The research record in the report: every decision with what was measured here in its source's place."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import write_json
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_recipes
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_research import measured, research_table
from ansible_collections.tandem.campaign.plugins.plugin_utils.sources import read_registries, source_documents

UNTOUCHED: dict[str, Any] = {"profiles": []}
LANE: dict[str, Any] = {
    "profiles": [
        {
            "name": "off",
            "gates": [
                {
                    "protocol": "functional/v1",
                    "verdict": "passed",
                    "checks": [{"name": "coherence", "verdict": "passed"}],
                },
                {"protocol": "quality/starter-v1", "verdict": "failed", "checks": []},
                {"protocol": "capacity/v3", "verdict": "passed", "checks": []},
            ],
        }
    ]
}
QUANTIZATION = {"method": "modelopt", "formats": ["NVFP4"], "kv": "FP8", "sources": ["config.json"]}
PACKET: dict[str, dict[str, Any]] = {
    "snapshot": {"snapshot": {"proof": "ab" * 32, "checkpoint": {"quantization": QUANTIZATION}}},
    "image": {"report": {"id": "sha256:" + "1d" * 32}},
    "nccl": {"verdict": "passed", "reason": "SHM between all ranks", "bus_gb_s": 21.456},
    "live": {
        "comparisons": [{"verdict": "passed"}, {"verdict": "inconclusive"}],
        "live": {"engine": {"ranks": [{"weights_gib": 85.9, "kv_gib": None}, {"weights_gib": 86.4, "kv_gib": 3.1}]}},
    },
    "capacity-off-0": {"metrics": {"decode_tok_s": {"p50": 99.96}}},
}


@pytest.mark.parametrize(
    ("settled_by", "says"),
    [
        ("weights", "this revision, proven as abababababababab; the checkpoint declares modelopt NVFP4, KV FP8"),
        ("image", "image sha256:1d1d1d1d1d1d1d1d"),
        ("transport", "passed: SHM between all ranks, 21.46 GB/s"),
        ("settings", "1 of 2 read back as planned"),
        ("memory", "86.4 GiB of weights and 3.1 GiB of KV cache on the largest of 2 ranks"),
        ("coherence", "passed (off)"),
        ("functional", "passed (off, functional/v1)"),
        ("quality", "failed (off, quality/starter-v1)"),
        ("capacity", "passed (off, capacity/v3), decode 100.0 tok/s"),
    ],
)
def test_each_kind_of_result(tmp_path: Path, settled_by: str, says: str) -> None:
    assert measured(tmp_path, UNTOUCHED, settled_by) == "not measured"
    for name, document in PACKET.items():
        write_json(tmp_path / f"{name}.json", document)
    assert measured(tmp_path, LANE, settled_by) == says


def test_a_probe_that_did_not_run_settles_nothing(tmp_path: Path) -> None:
    write_json(tmp_path / "nccl.json", {"verdict": "not_run", "reason": "one role"})
    assert measured(tmp_path, UNTOUCHED, "transport") == "not measured"


def test_the_table_of_a_lane(tmp_path: Path) -> None:
    assert list(research_table(tmp_path, UNTOUCHED)) == []
    laguna = read_recipes([COLLECTION_RECIPES])["laguna-s-2.1-nvfp4-tp2"]
    write_json(tmp_path / "sources.json", {"sources": source_documents(laguna, datetime.date(2026, 8, 20))})
    ((header, rows),) = research_table(tmp_path, LANE)
    assert header[-1] == "measured here"
    assert [row[1:2] + row[3:] for row in rows] == [
        ("publisher, 2026-08-01", "none", "settings: not measured"),
        ("community, 2026-08-01", "its evidence is community", "functional: passed (off, functional/v1)"),
    ]


def test_every_source_of_the_collection_is_settled_by_something_that_can_be_read(tmp_path: Path) -> None:
    for source in read_registries(COLLECTION_RECIPES).values():
        assert measured(tmp_path, UNTOUCHED, source.settled_by) == "not measured"
