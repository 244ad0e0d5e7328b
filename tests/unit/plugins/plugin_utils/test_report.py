"""Report and table: the same figures as published, hostile text made harmless."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import write_json
from ansible_collections.tandem.campaign.plugins.plugin_utils.markdown import cell, markdown_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.outcome_table import outcome_rows, text_table
from ansible_collections.tandem.campaign.plugins.plugin_utils.report import (
    _final_state,
    markdown_report,
)
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_capacity import (
    burst_section,
    capacity_row,
    capacity_section,
)

SUMMARY = {"n": 12, "p50": None, "p95": None, "p50_interval": (None, None), "p95_interval": (None, None)}
DELIVERY = {"warm": 0, "untrusted": 0, "reasons": [], "decode_overstated_by_at_most": None}


def capacity(**p50: float) -> dict[str, Any]:
    tags = ("prompt_tokens", "first_output_s", "first_visible_s", "prefill_tok_s", "decode_tok_s", "e2e_s")
    return {
        "profile": "low",
        "protocol": "capacity/v4-reasoning",
        "verdict": "passed",
        "completed": 11,
        "requested": {"requests": 12, "max_tokens": 512, "context_tokens": 32768},
        "energy": {"samples": 0},
        "delivery": DELIVERY,
        "failures": [],
        "decode_label": "combined",
        "aggregate_output_tok_s": 7.59630572878913,
        "metrics": {tag: {**SUMMARY, "p50": p50.get(tag)} for tag in tags},
    }


def test_a_published_row() -> None:
    document = capacity(
        prompt_tokens=21144.0,
        first_output_s=2.704699,
        first_visible_s=29.105987,
        prefill_tok_s=7817.93,
        decode_tok_s=11.52948,
    )
    assert capacity_row("deepseek", document) == (
        "deepseek", "low", "capacity/v4-reasoning", "11/12", "512", "21,144", "2.705 s", "29.106 s", "7,818 tok/s", "11.5 tok/s combined", "7.60 tok/s", "12",
    )  # fmt: skip


def test_a_missing_value_is_a_dash() -> None:
    assert capacity_row("x", {**capacity(), "aggregate_output_tok_s": None})[5:11] == (
        "-",
        "-",
        "-",
        "-",
        "- combined",
        "-",
    )


def test_cells_are_harmless() -> None:
    assert cell("<script>|`*\x1b[31m\n{{ x }}") == "&lt;script&gt;\\|\\`\\* {{ x }}"


LANE: dict[str, Any] = {
    "recipe": "one",
    "outcome": "rejected",
    "reason": "<b>",
    "lane_key": None,
    "caveats": [{"id": "c", "text": "t|x"}],
    "control": {"expect": "rejected", "met": True},
    "profiles": [
        {
            "name": "off",
            "gates": [
                {"protocol": "functional/v1", "verdict": "failed", "reason": "no", "required": True, "checks": []},
                {"protocol": "capacity/v3", "verdict": "not_run", "reason": "no", "required": True, "checks": []},
            ],
        }
    ],
}


def test_the_outcome_table() -> None:
    (row,) = outcome_rows([LANE])
    assert row == ("one", "rejected", "failed", "-", "not_run", "caught", "1")
    assert text_table([row])[2].split() == list(row)


def test_a_whole_report(tmp_path: Path) -> None:
    verdict = {
        "identity": {"started_at": "t", "collection": {"version": "0.1.0", "revision": None}},
        "campaign": "c", "host": "h", "outcome": "passed", "reason": "r", "simulated": False, "promotion": "none",
        "restore": {"verdict": "passed", "reason": "same", "diff_count": 0}, "lanes": [LANE],
    }  # fmt: skip
    write_json(tmp_path / "verdict.json", verdict)
    (tmp_path / "lanes" / "one").mkdir(parents=True)
    (tmp_path / "lanes" / "one" / "capacity-1.json").write_text(json.dumps(capacity(first_output_s=1.0)))
    text = markdown_report(tmp_path)
    assert "<b>" not in text
    assert "Differences to the state before: 0" in text
    assert "| one | low | capacity/v4-reasoning | 11/12 |" in text
    assert "- one, off: no figures, withheld: functional/v1 failed: no." in text


def test_the_final_state_is_shown_as_the_reader_saw_it(tmp_path: Path) -> None:
    services = {
        "omni": {"kind": "container", "state": "running", "exit_code": None, "health": 200},
        "router": {"kind": "container", "state": "exited", "exit_code": 137, "health": None},
    }
    final: dict[str, Any] = {
        "mode": "split",
        "exclusive_owner": None,
        "gpu_ownership": {"compute_a": [], "compute_b": ["omni"]},
        "services": services,
        "unresolved": [],
        "blocked_workloads": [],
    }
    write_json(tmp_path / "final-state.json", final)
    text = markdown_of(_final_state(tmp_path))
    assert "| split | compute\\_a: nobody; compute\\_b: omni | none | none |" in text
    assert "| router | container | exited (137) | - |" in text
    assert list(_final_state(tmp_path / "elsewhere")) == []


def lane_with(tmp_path: Path, **documents: dict[str, Any]) -> tuple[Path, list[dict[str, Any]]]:
    for name, document in documents.items():
        write_json(tmp_path / "lanes" / "one" / f"{name.replace('_', '-')}.json", document)
    return tmp_path, [{"recipe": "one", "profiles": []}]


def test_speed_behind_a_failed_gate_is_no_result(tmp_path: Path) -> None:
    """Case H16: a broken configuration was fast, and its figures lived for weeks."""
    functional = {"protocol": "functional/v1", "verdict": "failed", "reason": "known answer wrong", "required": True}
    timed = {"protocol": "capacity/v3", "verdict": "passed", "reason": "12 of 12", "required": True}
    packet, (lane,) = lane_with(tmp_path, capacity_1={**capacity(decode_tok_s=300.0), "profile": "off"})
    lane["profiles"] = [{"name": "off", "gates": [functional, timed]}]
    assert markdown_of(capacity_section(packet, [lane])) == (
        "No lane was timed.\n\n- one, off: no figures, withheld: functional/v1 failed: known answer wrong.\n"
    )
    lane["profiles"] = [{"name": "off", "gates": [{**functional, "verdict": "passed"}, timed]}]
    assert "300.0 tok/s" in markdown_of(capacity_section(packet, [lane]))


def test_how_sure_the_figures_are(tmp_path: Path) -> None:
    document = capacity(first_output_s=1.0, decode_tok_s=50.0)
    document["metrics"]["first_output_s"] |= {
        "n": 20,
        "p95": 2.0,
        "p50_interval": (0.9, 1.1),
        "p95_interval": (1.5, None),
    }
    document["metrics"]["decode_tok_s"] |= {"p50_interval": (49.5, 50.5)}
    text = markdown_of(capacity_section(*lane_with(tmp_path, capacity_1=document)))
    assert (
        "| one | low | - | 20 | 1.000 s (0.900 to 1.100) | 2.000 s (1.500 to ?) | 50.0 tok/s (49.5 to 50.5) |" in text
    )
    assert "GuideLLM" in text


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    document = capacity()
    document["delivery"] = {
        "warm": 2, "untrusted": 1, "reasons": ["burst | delivery"], "decode_overstated_by_at_most": 0.0123,
    }  # fmt: skip
    document["failures"] = [{"request": 8, "class": "reasoning_exhausted", "text": "<i>"}]
    text = markdown_of(capacity_section(*lane_with(tmp_path, capacity_1=document)))
    assert "- one, low: 2 of 11 prompts were warm" in text
    assert "1 of 11 streams can't be timed (burst \\| delivery)" in text
    assert "at most 1.23% too high" in text
    assert "request 8 failed: reasoning\\_exhausted (&lt;i&gt;)" in text


def test_a_burst_stands_apart(tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "profile": "off", "verdict": "passed", "requested": {"concurrency": 4}, "completed": 4, "alone_first_output_s": 0.1,
        "first_output_min_s": 0.1, "first_output_p50_s": 0.4, "first_output_max_s": None, "slowdown": 4.0, "generating_at_once": 1, "most_waiting": None,
    }  # fmt: skip
    packet, lanes = lane_with(tmp_path, burst_off=document)
    assert markdown_of(capacity_section(packet, lanes)) == "No lane was timed.\n"
    heading, table, note = markdown_of(burst_section(packet, lanes)).rstrip().split("\n\n")
    assert heading == "## Bursts"
    assert "| one | off | passed | 4 | 4/4 | 0.100 s | 0.100 s | 0.400 s | - | 4.0 x | 1 | - |" in table
    assert "no capacity figure" in note
    assert burst_section(packet, []) == []
