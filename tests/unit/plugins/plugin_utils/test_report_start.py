"""The start of an engine in the report: from the packet alone, hostile text harmless, nothing where nothing was loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import write_json
from ansible_collections.tandem.campaign.plugins.plugin_utils.markdown import markdown_table
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_start import fit_table, image_table, start_tables

LIVE: dict[str, Any] = {
    "process": {"runtime": "docker", "id": "c0ffee01" * 8},
    "devices_inside": {"uuids": ["GPU-a", "GPU-b"]},
    "engine": {
        "ranks": [
            {"rank": 0, "weights_gib": 85.93, "kv_gib": 3.14, "graph_gib": None, "graph_s": None},
            {"rank": 1, "weights_gib": 86.9, "kv_gib": None, "graph_gib": 0.31, "graph_s": 6.4},
        ]
    },
}
ROWS = [
    {"name": "argv", "planned": [], "live": [], "verdict": "passed"},
    {"name": "moe_backend", "planned": "marlin", "live": None, "verdict": "inconclusive"},
]


def test_start_settings_and_ranks(tmp_path: Path) -> None:
    write_json(tmp_path / "live.json", {"live": LIVE, "comparisons": ROWS, "identity": {"engine_version": "0.5.16<b>"}})
    write_json(tmp_path / "engine.json", {"ready_s": 61.23})
    start, other, ranks = start_tables(tmp_path)
    assert start[1] == [("container c0ffee01c0ff", "61.2 s", "0.5.16<b>", "GPU-a, GPU-b", "1 of 2 settings")]
    assert other[1] == [("moe_backend", "marlin", "None", "inconclusive")]
    assert ranks[1] == [("0", "85.93 GiB", "3.14 GiB", "-", "-"), ("1", "86.9 GiB", "-", "0.31 GiB", "6.4 s")]
    assert "<b>" not in markdown_table(*start)


def test_the_estimate_stands_beside_what_was_measured(tmp_path: Path) -> None:
    fit = {"verdict": "fits", "reason": "3 GiB left", "weights": 86.4, "cache": 0.75}
    write_json(tmp_path / "fit.json", {"fit": fit})
    told: list[dict[str, Any]] = LIVE["engine"]["ranks"]
    ((header, rows),) = fit_table(tmp_path, told)
    assert header == ("fit", "weights a rank", "KV cache a rank", "says")
    assert rows == [
        ("estimate", "86.40 GiB", "0.75 GiB", "fits: 3 GiB left"),
        ("measured, largest rank", "86.90 GiB, the estimate is -0.6%", "3.14 GiB", "loaded"),
    ]
    ((_header, untold),) = fit_table(tmp_path, [])
    assert untold[1] == ("measured, largest rank", "-", "-", "the engine told of no ranks")
    write_json(tmp_path / "fit.json", {"fit": None})
    assert list(fit_table(tmp_path, told)) == []


def test_nothing_was_loaded(tmp_path: Path) -> None:
    assert (list(start_tables(tmp_path)), list(image_table(tmp_path))) == ([], [])
    write_json(tmp_path / "image.json", {"report": None})
    assert list(image_table(tmp_path)) == []


def test_a_derived_image_names_what_was_changed(tmp_path: Path) -> None:
    files = [
        {"path": "/r/a.py", "before": "0" * 64, "after": "1" * 64, "gate": "WSL2", "reason": "SIGFPE"},
        {"path": "/r/added/__init__.py", "before": None, "after": "2" * 64, "gate": "always", "reason": "missing"},
    ]
    write_json(
        tmp_path / "image.json",
        {"report": {"id": "sha256:1d", "platform": "linux/amd64", "index_digest": None, "manifest": {"files": files}}},
    )
    values, patched = image_table(tmp_path)
    assert values[1][0][:3] == ("derived on this host", "the engine does not tell", "sha256:1d")
    assert patched[1] == [("/r/a.py", "WSL2", "SIGFPE", "1" * 16)]
