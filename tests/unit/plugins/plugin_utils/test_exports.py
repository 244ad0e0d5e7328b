"""What programs read: held against the published schema, and read by the parsers of those who read it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import read_json
from ansible_collections.tandem.campaign.plugins.plugin_utils.compare import compared
from ansible_collections.tandem.campaign.plugins.plugin_utils.compare_sides import side_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.exports import EXPORTS, export_files
from ansible_collections.tandem.campaign.plugins.plugin_utils.junit import junit_xml
from ansible_collections.tandem.campaign.plugins.plugin_utils.prometheus import prometheus_text
from ansible_collections.tandem.campaign.plugins.plugin_utils.results import results_of
from ansible_collections.tandem.campaign.tests.fakes.hostile import make_hostile
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parents[4]
NAME = "inkling-small-nvfp4-tp2"


@pytest.fixture(scope="module")
def packet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seed_packet(tmp_path_factory.mktemp("packet"), NAME).folder


@pytest.fixture(scope="module")
def files(packet: Path) -> dict[str, str]:
    return export_files(packet, tuple(EXPORTS))


def held(document: Any, schema: str) -> None:
    jsonschema.validate(document, read_json(ROOT / "docs" / "schemas" / schema), jsonschema.Draft202012Validator)


def test_the_results_are_of_their_schema_and_equal_the_packet(files: dict[str, str], packet: Path) -> None:
    results = json.loads(files["exports/results.json"])
    held(results, "results-v1.json")
    (lane,) = results["lanes"]
    for number, one in enumerate(lane["capacity"], start=1):
        own = read_json(packet / "lanes" / NAME / f"capacity-{number}.json")
        assert one["metrics"]["decode_tok_s"]["p50"] == own["metrics"]["decode_tok_s"]["p50"]
        assert one["withheld"] is None
    assert {gate["profile"] for gate in lane["gates"]} == {"off", "low"}


def test_a_schema_refuses_what_it_does_not_name(files: dict[str, str]) -> None:
    results = json.loads(files["exports/results.json"])
    for broken in ({**results, "speed": 1}, {**results, "outcome": "fine"}, {**results, "lanes": [{}]}):
        with pytest.raises(jsonschema.ValidationError):
            held(broken, "results-v1.json")


def test_a_comparison_is_of_its_schema(packet: Path) -> None:
    side = side_of(packet)
    held(compared(side, side, {"decode_tok_s": 0.05}, baseline=False, lanes={}), "comparison-v1.json")
    held(compared(side, side, {}, baseline=True, lanes={}), "comparison-v1.json")


def test_every_request_is_a_line(files: dict[str, str], packet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(files["exports/rows.csv"])))
    kept = [json.loads(line) for line in (packet / "lanes" / NAME / "rows.jsonl").read_text().splitlines()]
    sent = [row for row in kept if "reply" in row]
    assert [row["request_sha256"] for row in rows] == [row["request_sha256"] for row in sent]
    for line, row in zip(rows, sent, strict=True):
        first = row["reply"]["first_output_ns"]
        assert line["first_output_s"] == ("" if first is None else f"{first / 1e9:.9f}")


def test_checks_are_test_cases(files: dict[str, str]) -> None:
    root = ElementTree.fromstring(files["exports/junit.xml"].encode())
    suites = {suite.get("name"): suite for suite in root}
    functional = suites[f"{NAME}.off.functional/v1"]
    assert int(functional.get("tests", 0)) == len(functional) > 10
    assert functional.get("failures") == "0"
    (lane,) = suites[NAME]
    assert len(lane) == 0


def test_what_failed_is_called_what_it_is(packet: Path) -> None:
    results = results_of(packet)
    (lane,) = results["lanes"]
    gate = {"profile": "off", "protocol": "p/v1", "required": True, "verdict": "failed", "reason": "r"}
    checks = [
        {"name": name, "level": level, "verdict": verdict, "reason": "why <&> \x1b[31m"}
        for name, level, verdict in (
            ("a", "required", "failed"),
            ("b", "required", "inconclusive"),
            ("c", "required", "not_run"),
            ("d", "advisory", "failed"),
        )
    ]
    broken = {**results, "lanes": [{**lane, "outcome": "rejected", "gates": [{**gate, "checks": checks}]}]}
    root = ElementTree.fromstring(junit_xml(broken).encode())
    suite = next(suite for suite in root if suite.get("name") == f"{NAME}.off.p/v1")
    assert [[element.tag for element in case] for case in suite] == [
        ["failure"],
        ["failure"],
        ["error"],
        ["skipped"],
        ["skipped"],
    ]
    assert suite[1][0].get("message") == "why <&>"
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("2", "1", "2")


@pytest.mark.parametrize(
    ("outcome", "met", "inside"),
    [("rejected", True, []), ("qualified", False, ["failure"]), ("not_run", False, ["skipped"])],
)
def test_a_control_passes_as_it_is_caught(packet: Path, outcome: str, met: bool, inside: list[str]) -> None:
    results = results_of(packet)
    (lane,) = results["lanes"]
    control = {**lane, "outcome": outcome, "control": {"expect": "rejected", "met": met}}
    root = ElementTree.fromstring(junit_xml({**results, "lanes": [control]}).encode())
    suite = next(suite for suite in root if suite.get("name") == NAME)
    assert [element.tag for element in suite[0]] == inside


def test_prometheus_reads_its_file(files: dict[str, str], packet: Path) -> None:
    families = {family.name: family for family in text_string_to_metric_families(files["exports/tandem.prom"])}
    own = read_json(packet / "lanes" / NAME / "capacity-1.json")
    decode = [
        sample
        for sample in families["tandem_decode_tokens_per_second"].samples
        if sample.labels["profile"] == own["profile"]
    ]
    assert own["metrics"]["decode_tok_s"]["p50"] in [sample.value for sample in decode]
    assert families["tandem_restore_passed"].samples[0].value == 1.0
    assert "tandem_output_token_joules" not in families


def test_withheld_figures_are_no_gauges(packet: Path) -> None:
    results = results_of(packet)
    (lane,) = results["lanes"]
    lane["capacity"] = [{**one, "withheld": "quality failed"} for one in lane["capacity"]]
    assert "tandem_decode" not in prometheus_text(results)


def test_hostile_text_breaks_no_format(tmp_path: Path) -> None:
    packet = make_seed_packet(tmp_path, NAME).folder
    make_hostile(packet, NAME)
    rows = packet / "lanes" / NAME / "rows.jsonl"
    rows.write_text(rows.read_text().replace('"finish_reason": "stop"', '"finish_reason": "=cmd|\' /C calc\'!A0"'))
    files = export_files(packet, tuple(EXPORTS))
    ElementTree.fromstring(files["exports/junit.xml"].encode())
    held(json.loads(files["exports/results.json"]), "results-v1.json")
    assert list(text_string_to_metric_families(files["exports/tandem.prom"]))
    cells = [row["finish_reason"] for row in csv.DictReader(io.StringIO(files["exports/rows.csv"]))]
    assert any(cell.startswith("'=cmd") for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)
    assert "\x1b" not in "".join(files.values())
