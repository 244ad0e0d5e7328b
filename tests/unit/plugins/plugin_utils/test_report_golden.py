"""The report's own tables over the published campaign's timing figures: what was printed there is printed here, digit for digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import write_json
from ansible_collections.tandem.campaign.plugins.module_utils._gates.capacity import CapacityRun, capacity_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.events import Reply
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import CapacityGate
from ansible_collections.tandem.campaign.plugins.plugin_utils.report import markdown_report
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_files import report_files

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[3] / "fixtures" / "golden_capacity.json").read_text())
#: Golden lane -> (recipe, profile, context in tokens, budget of an answer).
LANES = {
    "qwen35": ("qwen35", "off", 32768, 256), "nemotron": ("nemotron", "off", 32768, 256), "laguna": ("laguna", "off", 32768, 256),
    "deepseek-low": ("deepseek", "low", 32768, 2048), "inkling-off": ("inkling", "off", 32768, 256), "inkling-low": ("inkling", "low", 32768, 1024),
    "qwen35-128k": ("qwen35", "off", 131072, 128), "nemotron-60k": ("nemotron", "off", 61440, 128), "laguna-240k": ("laguna", "off", 245760, 128),
}  # fmt: skip
#: The matched baseline as the campaign report prints it, first output where it differs from first visible (its table says "same as TTFT" elsewhere).
PUBLISHED = """
qwen35 off capacity/v3 12/12 | 29,804 | 2.324 s | 2.324 s | 12,821 tok/s | 67.5 tok/s | 17.83 tok/s
nemotron off capacity/v3 12/12 | 28,438 | 2.836 s | 2.836 s | 10,025 tok/s | 59.5 tok/s | 17.19 tok/s
laguna off capacity/v3 12/12 | 29,834 | 1.971 s | 1.971 s | 15,134 tok/s | 70.9 tok/s | 21.14 tok/s
inkling off capacity/v3 12/12 | 22,421 | 2.838 s | 2.838 s | 7,887 tok/s | 74.6 tok/s | 16.78 tok/s
deepseek low capacity/v4-reasoning 11/12 | 21,144 | 2.705 s | 29.106 s | 7,818 tok/s | 11.5 tok/s combined | 7.60 tok/s
inkling low capacity/v4-reasoning 12/12 | 21,879 | 2.789 s | 4.630 s | 7,844 tok/s | 73.5 tok/s combined | 34.55 tok/s
"""
#: Its longer contexts; the published table has neither first output nor aggregate.
PUBLISHED_LONG = """
qwen35 off capacity/v3 4/4 | 125,444 | 14.593 s | 8,570 tok/s | 65.0 tok/s
nemotron off capacity/v3 4/4 | 53,820 | 5.579 s | 9,646 tok/s | 60.0 tok/s
laguna off capacity/v3 4/4 | 231,457 | 31.851 s | 7,252 tok/s | 66.0 tok/s
"""


def run_of(lane: dict[str, Any]) -> CapacityRun:
    """The rows keep only the end of the whole answer, so that is the last output here, and no deltas: one a token, as these engines send them.

    A request that has no row failed.
    """
    replies = [
        Reply(
            200, round(e2e * 1e6), content="x", finish_reason="stop", prompt_tokens=prompt, completion_tokens=output, chunks=output,
            first_output_ns=round(first_output * 1e6), first_visible_ns=round(first_visible * 1e6), last_output_ns=round(e2e * 1e6),
        )
        for prompt, output, first_output, first_visible, e2e in lane["rows"]
    ]  # fmt: skip
    failed = [Reply(200, 1, error_class="reasoning_exhausted")] * (lane["requests"] - len(replies))
    return CapacityRun(
        (), (*replies, *failed), 32768, round(lane["wall_clock_ms"] * 1e6), "2026-08-01T00:00:00.000Z", None, None
    )


@pytest.fixture
def packet(tmp_path: Path) -> Path:
    """A packet with the published lanes; of the rest only what a report can't do without."""
    for number, (name, (recipe, profile, context, budget)) in enumerate(LANES.items()):
        lane = GOLDEN["lanes"][name]
        start = "first_output" if lane["protocol"] == "capacity-v4-reasoning" else "first_visible"
        protocol = lane["protocol"].replace("-", "/", 1)
        gate = CapacityGate(protocol, context, lane["requests"], 0, budget)
        document = capacity_document(run_of(lane), gate, {"generation_starts_at": start})
        names = {"profile": profile, "protocol": protocol, "verdict": "passed", "energy": {"samples": 0}}
        (tmp_path / "lanes" / recipe).mkdir(parents=True, exist_ok=True)
        write_json(tmp_path / "lanes" / recipe / f"capacity-{number}.json", {**document, **names})
    recipes = dict.fromkeys(recipe for recipe, _profile, _context, _budget in LANES.values())
    lanes: list[dict[str, Any]] = [
        {"recipe": recipe, "outcome": "qualified", "reason": "r", "lane_key": None, "caveats": [], "control": None, "profiles": []} for recipe in recipes
    ]  # fmt: skip
    write_json(
        tmp_path / "verdict.json",
        {
            "identity": {"started_at": "t", "collection": {"version": "0.1.0", "revision": None}}, "campaign": "c", "host": "h", "outcome": "passed",
            "reason": "r", "simulated": False, "promotion": "none", "restore": {"verdict": "passed", "reason": "same", "diff_count": 0}, "lanes": lanes,
        },
    )  # fmt: skip
    return tmp_path


def table_lines(report: str) -> tuple[list[list[str]], list[list[str]]]:
    """The cells of (baseline, longer contexts), without the budget and n, which were not published."""
    capacity = report.split("## Capacity\n")[1].split("First output is the first")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in capacity.splitlines()
        if "/12" in line or "/4 " in line
    ]
    rows = [[" ".join(row[:4]), *row[5:11]] for row in cells]
    return [row for row in rows if "/12" in row[0]], [row for row in rows if "/4" in row[0][-4:]]


def published(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip().splitlines()]


def test_the_capacity_tables_are_the_published_ones(packet: Path) -> None:
    baseline, longer = table_lines(markdown_report(packet))
    assert baseline == published(PUBLISHED)
    assert [
        [name, prompt, visible, prefill, decode] for name, prompt, _first, visible, prefill, decode, _sum in longer
    ] == published(PUBLISHED_LONG)


def test_the_page_has_the_same_digits(packet: Path) -> None:
    page = report_files(packet, ["html"])["report.html"]
    for line in (*published(PUBLISHED), *published(PUBLISHED_LONG)):
        for figure in line[1:]:
            assert f">{figure}</td>" in page, line
