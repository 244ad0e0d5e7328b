"""Reports as files: one self-contained page, hostile text shown and never run, many packets on one page."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EvidenceError
from ansible_collections.tandem.campaign.plugins.module_utils._words.text import plain
from ansible_collections.tandem.campaign.plugins.plugin_utils import charts
from ansible_collections.tandem.campaign.plugins.plugin_utils.html_page import word_class
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_files import many_report_files, report_files
from ansible_collections.tandem.campaign.tests.fakes.hostile import HOSTILE, make_hostile
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet

LAGUNA = "laguna-s-2.1-nvfp4-tp2"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seed_packet(tmp_path_factory.mktemp("genuine"), LAGUNA).folder


@pytest.fixture
def packet(genuine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(genuine, tmp_path / "campaigns" / "c" / "h"))


class Tags(HTMLParser):
    """Every tag with its attributes, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def tags_of(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    return parser


def test_one_page_needs_nothing_else(packet: Path) -> None:
    page = report_files(packet)["report.html"]
    tags = tags_of(page).tags
    assert not [value for _tag, attributes in tags for name, value in attributes.items() if name in ("src", "srcset")]
    assert all((attributes.get("href") or "#").startswith("#") for _tag, attributes in tags)
    assert not [value for _tag, attributes in tags for name, value in attributes.items() if name.startswith("on")]
    assert "url(http" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert page.count("<script") == 1


def test_requests_and_answers_are_there_unless_they_are_left_out(packet: Path) -> None:
    whole, lean = (report_files(packet, ["html"], raw=raw)["report.html"] for raw in (True, False))
    assert "request_sha256" in whole
    assert "request_sha256" not in lean
    assert f"lanes/{LAGUNA}/rows.jsonl" in lean
    assert len(lean.encode()) < 2_000_000


def test_hostile_text_is_shown_and_nothing_of_it_is_markup(packet: Path) -> None:
    clean = [tag for tag, _attributes in tags_of(report_files(packet)["report.html"]).tags]
    make_hostile(packet, LAGUNA)
    files = report_files(packet)
    parsed = tags_of(files["report.html"])
    assert [tag for tag, _attributes in parsed.tags if tag in ("script", "img")] == [
        tag for tag in clean if tag in ("script", "img")
    ]
    assert plain(HOSTILE)[:40] in " ".join(parsed.text)
    for name, text in files.items():
        assert not CONTROL.search(text.replace("\n", "")), name
        text.encode()
    assert "<script" not in files["report.md"]
    assert all("<script" not in text for name, text in files.items() if name.endswith(".svg"))


def test_formats_are_chosen(packet: Path) -> None:
    assert sorted(report_files(packet, ["html"])) == ["report.html"]
    markdown = report_files(packet, ["markdown"])
    assert sorted(markdown) == [
        "charts/first-output.svg",
        "charts/rates-by-context.svg",
        "charts/stream.svg",
        "report.md",
    ]
    assert "](charts/first-output.svg)" in markdown["report.md"]
    assert report_files(packet, []) == {}


def test_without_the_plotting_library_the_tables_say_it(packet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "can_draw", lambda: False)
    assert sorted(report_files(packet)) == ["report.html", "report.md"]


def test_many_packets_are_one_page(packet: Path) -> None:
    twin = Path(shutil.copytree(packet, packet.parents[1] / "d" / "h"))
    files = many_report_files([packet, twin])
    assert "| c/h | passed |" in files["report.md"]
    assert "| c/h #2 | passed |" in files["report.md"]
    assert f"| {LAGUNA} (c/h #2) | off | capacity/v3 | 12/12 |" in files["report.md"]
    assert "c/h #2: `d/h/report.md`" in files["report.md"]
    page = files["report.html"]
    assert page.count("<summary>c/h") == 2
    assert [tag for tag, _attributes in tags_of(page).tags].count("h1") == 1
    assert str(packet) not in page


def test_a_folder_that_is_no_packet_is_named(tmp_path: Path) -> None:
    for made in (lambda: report_files(tmp_path), lambda: many_report_files([tmp_path])):
        with pytest.raises(EvidenceError, match=f"{tmp_path} has no verdict.json: name a packet's folder"):
            made()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("passed", "good"),
        ("failed: 3 of 4", "bad"),
        ("inconclusive (x)", "unsure"),
        ("-", "none"),
        ("passedby", ""),
        ("", ""),
    ],
)
def test_a_verdict_has_a_colour_and_nothing_else_has(text: str, kind: str) -> None:
    assert word_class(text) == kind
