"""Pictures: drawn from a packet's own figures, the same bytes from the same data, harmless whatever a name holds."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import read_json, write_json
from ansible_collections.tandem.campaign.plugins.plugin_utils.blocks import Chart
from ansible_collections.tandem.campaign.plugins.plugin_utils.chart_power import thinned
from ansible_collections.tandem.campaign.plugins.plugin_utils.chart_stream import median_reply, stream_points
from ansible_collections.tandem.campaign.plugins.plugin_utils.chart_timeline import Span, spans_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.charts import chart_files, packet_charts
from ansible_collections.tandem.campaign.plugins.plugin_utils.figure import drawn, in_page, marked
from ansible_collections.tandem.campaign.plugins.plugin_utils.roofline import roof_of
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet

LAGUNA = "laguna-s-2.1-nvfp4-tp2"
BASELINE = "capacity-1.json"


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seed_packet(tmp_path_factory.mktemp("genuine"), LAGUNA).folder


@pytest.fixture
def packet(genuine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(genuine, tmp_path / "h"))


def charts_of(packet: Path, *, simulated: bool = False) -> dict[str, Chart]:
    verdict = read_json(packet / "verdict.json")
    return {chart.name: chart for chart in packet_charts(packet, verdict["lanes"], simulated=simulated)}


def words_of(svg: str) -> str:
    return " ".join("".join(ElementTree.fromstring(svg).itertext()).split())


def test_the_words_beside_a_picture_are_the_packet_s_own_figures(packet: Path) -> None:
    charts = charts_of(packet)
    assert list(charts) == ["first-output", "rates-by-context", "stream"]
    document = read_json(packet / "lanes" / LAGUNA / BASELINE)
    first, decode = (document["metrics"][tag]["p50"] for tag in ("first_output_s", "decode_tok_s"))
    assert f"{LAGUNA}, off: first output {first:.3f} s" in charts["first-output"].says
    assert (
        f"{decode:.1f} tok/s at {document['metrics']['prompt_tokens']['p50']:,.0f} tokens"
        in charts["rates-by-context"].says
    )
    assert f"{LAGUNA}, off" in words_of(charts["first-output"].svg)


def test_the_same_data_are_the_same_bytes(packet: Path) -> None:
    assert chart_files(list(charts_of(packet).values())) == chart_files(list(charts_of(packet).values()))


def test_a_rehearsal_is_marked_in_every_picture(packet: Path) -> None:
    for chart in charts_of(packet, simulated=True).values():
        assert "simulated" in words_of(chart.svg)
        assert chart.says.startswith("simulated: ")
    assert not any("simulated" in words_of(chart.svg) for chart in charts_of(packet).values())


def test_what_is_withheld_is_not_drawn(packet: Path) -> None:
    verdict = read_json(packet / "verdict.json")
    verdict["lanes"][0]["profiles"][0]["gates"][0]["verdict"] = "failed"
    write_json(packet / "verdict.json", verdict)
    assert charts_of(packet) == {}


def test_a_hostile_name_is_only_text() -> None:
    chart = drawn(
        "x", "t", "s", 1.0, lambda figure: figure.text(0, 0, "</text><script>alert(1)</script>$x^2$ {{ 7*7 }}")
    )
    assert "<script" not in chart.svg
    assert "<script>alert(1)</script>$x^2$ {{ 7*7 }}" in words_of(chart.svg)
    assert "<b>" not in marked(chart, "<b>").svg


def test_a_page_gives_its_own_colours_and_no_names_twice(packet: Path) -> None:
    for chart in charts_of(packet).values():
        page = in_page(chart.svg)
        assert "#0969da" not in page
        assert "var(--s0)" in page
        names = re.findall(r' id="([^"]+)"', page)
        assert len(names) == len(set(names))


def test_the_request_that_is_drawn_is_the_median_one(packet: Path) -> None:
    document = read_json(packet / "lanes" / LAGUNA / BASELINE)
    reply = median_reply(packet, LAGUNA, document)
    assert reply is not None
    times, counts = stream_points(reply)
    assert times[0] == document["metrics"]["first_output_s"]["p50"]
    assert counts[-1] == reply["chunks"]
    assert times[-1] == pytest.approx(reply["last_output_ns"] / 1e9, abs=0.002)
    assert stream_points({**reply, "gaps_us": [10] * 5000})[1][-1] == 5001
    assert len(stream_points({**reply, "gaps_us": [10] * 5000})[0]) <= 401


def test_power_is_drawn_where_a_card_was_sampled(packet: Path) -> None:
    samples = [
        {"t": 1767225600.0 + second, "role": role, "power_w": 100.0 + second} for second in range(30) for role in ("compute_a", "compute_b")
    ]  # fmt: skip
    lines = "".join(json.dumps(sample) + "\n" for sample in samples)
    (packet / "lanes" / LAGUNA / "telemetry.jsonl").write_text(
        lines + '{"t": 1.0, "role": "compute_a", "power_w": null}\n'
    )
    chart = charts_of(packet)[f"power-{LAGUNA}"]
    assert chart.says == "median compute_a 114 W, compute_b 114 W; most 129 W"


def test_thinning_keeps_the_peaks() -> None:
    points = [(float(second), 50.0) for second in range(4001)]
    points[2345] = (2345.0, 600.0)
    assert (2345.0, 600.0) in thinned(points)
    assert len(thinned(points)) <= 401


def test_the_stages_are_those_of_the_timeline(packet: Path) -> None:
    (packet / "journal.jsonl").write_text(
        "".join(
            json.dumps({"n": n, "step": step, "at": f"2026-01-01T00:{minute}:00.000Z"}) + "\n"
            for n, (step, minute) in enumerate(
                (("enter", "00"), ("committed", "01"), ("undo:omni", "08"), ("restored", "09"))
            )
        )
    )
    start = 1767225660.0
    events = [
        ("load", 0),
        ("load", 30),
        ("functional", 31),
        ("known_answer", 60),
        ("quality", 61),
        ("quality", 90),
        ("capacity", 91),
        ("capacity", 200),
    ]
    (packet / "timeline.jsonl").write_text(
        "".join(json.dumps({"t": start + t, "stage": stage, "recipe": LAGUNA}) + "\n" for stage, t in events)
    )
    assert [(span.stage, span.ended - span.began) for span in spans_of(packet)] == [
        ("mode", 60.0), ("restore", 60.0), ("load", 31.0), ("functional", 30.0), ("quality", 30.0), ("capacity", 109.0),
    ]  # fmt: skip
    assert spans_of(packet)[0] == Span("", "mode", 1767225600.0, start)
    assert "capacity 109 s" in charts_of(packet)["timeline"].says


ROLES: dict[str, dict[str, object]] = {"compute_a": {"uuid": "GPU-1"}, "compute_b": {"uuid": "GPU-2"}}


def with_hardware(
    packet: Path, roles: dict[str, dict[str, object]], name: str, total: float | None, active: float | None
) -> Path:
    lane = packet / "lanes" / LAGUNA
    write_json(packet / "reservation.json", {"host": {"gpu_roles": roles}})
    write_json(
        packet / "host.json", {"facts": {"gpus": [{"uuid": "GPU-1", "name": name}, {"uuid": "GPU-2", "name": name}]}}
    )
    write_json(lane / "recipe.json", {"recipe": {"model": {"total_params_b": total, "active_params_b": active}}})
    write_json(lane / "snapshot.json", {"snapshot": {"checkpoint": {"weight_bytes": 100 * 10**9}}})
    write_json(lane / "plan.json", {"plan": {"roles": dict.fromkeys(roles, "x")}})
    return packet


def test_the_roof_is_bandwidth_over_the_active_bytes(packet: Path) -> None:
    pro = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"
    roof = roof_of(with_hardware(packet, ROLES, pro, 100.0, 10.0), LAGUNA)
    assert roof is not None
    assert roof.tok_s == pytest.approx(2 * 1792 / 10)
    assert (
        roof.rests_on == "3,584 GB/s (2 roles, as its maker publishes it), 100.00 GB of weights, 10.0% of them active"
    )
    assert f"of 358 tok/s ({roof.rests_on})" in charts_of(packet)["roofline"].says


@pytest.mark.parametrize(
    ("roles", "name", "total", "active"),
    [(ROLES, "a card nobody knows", 100.0, 10.0), (ROLES, "NVIDIA H200", None, 10.0), (ROLES, "NVIDIA H200", 100.0, None), (ROLES, "NVIDIA H200", 10.0, 100.0)],
)  # fmt: skip
def test_there_is_no_roof_where_something_is_unknown(
    packet: Path, roles: dict[str, dict[str, object]], name: str, total: float | None, active: float | None
) -> None:
    assert roof_of(with_hardware(packet, roles, name, total, active), LAGUNA) is None
    assert "roofline" not in charts_of(packet)


def test_a_declared_bandwidth_comes_first(packet: Path) -> None:
    roles = {role: {**one, "memory_gb_s": 1500} for role, one in ROLES.items()}
    roof = roof_of(with_hardware(packet, roles, "NVIDIA H200", 100.0, 100.0), LAGUNA)
    assert roof is not None
    assert (roof.gb_s, roof.rests_on) == (
        3000.0,
        "3,000 GB/s (2 roles, declared in the inventory), 100.00 GB of weights",
    )
