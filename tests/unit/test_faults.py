"""The fault matrix is whole, small enough for every run, and the one that docs/reliability.md shows."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.tandem.campaign.tests.faults.matrix import NAMED, STAGES, all_faults, table

ROOT = Path(__file__).resolve().parents[2]


def test_there_are_enough_and_few_of_them_in_every_run() -> None:
    faults = all_faults()
    assert len({fault.id for fault in faults}) == len(faults) >= 60
    assert 0 < sum(fault.chosen for fault in faults) <= 15


def test_every_stage_and_every_named_fault_is_injected_somewhere() -> None:
    """A named fault that no test injects would stand in the table for nothing."""
    files = [*(ROOT / "tests" / "faults").glob("test_*.py"), *(ROOT / "tests" / "integration").glob("test_*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    marked = set(re.findall(r'fault\("([a-z-]+)"\)', text))
    assert marked == {fault.id for fault in NAMED}
    assert all(f'"{stage}":' in text for stage in STAGES)


def test_the_page_shows_this_list() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert table() in page, "docs/reliability.md is another list; put in what `python -m tests.faults.matrix` prints"
