"""An engine's key is in nothing that a program says while it works with it, and in none of the files that it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence import say
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.hidden import key_hidden

KEY = 'a"key that\\no form has'


@pytest.fixture(autouse=True)
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(say, "_hidden", set())


def test_it_is_neither_said_nor_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    folder = tmp_path / "lane"
    (folder / "inner").mkdir(parents=True)
    for name in ("startup.log", "inner/raw"):
        (folder / name).write_bytes(b"\xff" + KEY.encode() + b" end")
    with key_hidden(str(tmp_path / "key"), folder):
        say.tell("load", f"the engine says {KEY}")
        say.say(json.dumps({"result": {"text": KEY}}))
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[0])["text"] == "the engine says <key>"
    assert json.loads(lines[1]) == {"result": {"text": "<key>"}}
    assert {file.read_bytes() for file in folder.rglob("*") if file.is_file()} == {b"\xff<key> end"}


def test_files_go_on_while_an_engine_writes_them(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    log = tmp_path / "startup.log"
    log.write_text(KEY)
    with key_hidden(str(tmp_path / "key"), None):
        pass
    assert log.read_text() == KEY


@pytest.mark.parametrize("content", [None, "abc", ""])
def test_without_a_key_nothing_is_touched(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_text(content)
    (tmp_path / "log").write_text("abcdef abc")
    with key_hidden(str(file), tmp_path):
        pass
    assert (tmp_path / "log").read_text() == "abcdef abc"


def test_it_is_also_replaced_where_the_work_fails(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    folder = tmp_path / "lane"
    folder.mkdir()
    (folder / "log").write_text(KEY)
    with pytest.raises(ZeroDivisionError), key_hidden(str(tmp_path / "key"), folder):
        raise ZeroDivisionError
    assert (folder / "log").read_text() == "<key>"
