"""A journal that tells the truth after any crash."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode.journal import Journal, read_journal
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EvidenceError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "journal.jsonl"
    journal = Journal(file)
    journal.append("note", "enter", running={"omni": True})
    journal.append("intent", "stop:omni", kind="stop", step="x")
    journal.append("result", "stop:omni", outcome="terminated")
    return file


def test_it_reads_back(path: Path) -> None:
    records = read_journal(path)
    assert [(record.n, record.kind, record.step) for record in records] == [
        (0, "note", "enter"),
        (1, "intent", "stop:omni"),
        (2, "result", "stop:omni"),
    ]
    assert records[1].data == {"kind": "stop", "step": "x"}


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_left_out_and_written_over(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(read_journal(path)) == 2
    Journal(path).append("note", "again")
    assert [record.step for record in read_journal(path)] == ["enter", "stop:omni", "again"]


@pytest.mark.parametrize("line", [0, 1])
def test_damage_before_the_end_is_refused(path: Path, line: int) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[line] = lines[line].replace(b"omni", b"onmi", 1)
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(EvidenceError, match=f"line {line + 1} is damaged.*Start the services by hand"):
        read_journal(path)


def test_a_removed_line_is_noticed(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], *lines[2:]]))
    with pytest.raises(EvidenceError):
        read_journal(path)


def test_threads_may_write_at_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    threads = [threading.Thread(target=journal.append, args=("note", f"s{number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(record.step for record in read_journal(tmp_path / "j")) == [f"s{number}" for number in range(8)]


def test_nothing_there_is_an_empty_journal(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "none") == []
