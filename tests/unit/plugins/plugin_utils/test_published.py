"""The published copy: nothing that was planted is left, no number moved, and the copy is a packet that holds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._packet.check import check_packet
from ansible_collections.tandem.campaign.plugins.module_utils._packet.folder import PacketFolder
from ansible_collections.tandem.campaign.plugins.module_utils._packet.manifest import manifest_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError
from ansible_collections.tandem.campaign.plugins.plugin_utils.published import publish, same_numbers
from ansible_collections.tandem.campaign.plugins.plugin_utils.redaction import Redactor, known_of, scrub
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet
from ansible_collections.tandem.campaign.tests.fakes.planted import FACTS, HOST, plant

LAGUNA = "laguna-s-2.1-nvfp4-tp2"


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seed_packet(tmp_path_factory.mktemp("genuine"), LAGUNA).folder


@pytest.fixture
def packet(genuine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(genuine, tmp_path / "h"))


def test_nothing_that_was_planted_is_left(packet: Path) -> None:
    planted = plant(packet)
    assert len(planted) >= 200
    publish(packet, "workstation")
    copy = "\n".join(file.read_text() for file in (packet / "published").rglob("*") if file.is_file())
    assert [(kind, name) for kind, name, gone in planted if gone in copy or json.dumps(gone)[1:-1] in copy] == []


def test_what_stands_in_their_place_is_the_same_everywhere() -> None:
    redactor = Redactor(known_of(HOST, FACTS, "primary", "workstation"))
    uuid = "GPU-aaaaaaaa-0000-4000-8000-00000000000a"
    assert redactor.document({"devices": [uuid], uuid: "10.0.0.3 and 192.168.1.1"}) == {
        "devices": ["<gpu:compute_a>"],
        "<gpu:compute_a>": "100.64.0.10 and 100.64.0.10",
    }
    assert redactor.text("/srv/weights/hub/x on bobs-rig.lan by bobsmith") == "<cache>/x on workstation by <user>"


@pytest.mark.parametrize(
    "harmless",
    [
        "max_tokens: 512", "prompt_tokens=30000", "driver 10.20.30", "version 192.168", "127.0.0.1:8000", "0.0.0.0", "8.8.8.8", "100.64.0.10",
        "/v1/chat/completions", "channel bobsmiths", "sk-learn", "tokens per second: 10.5", "the secret code is KITE-1234", "12:30:45", "a::b",
    ],
)  # fmt: skip
def test_what_says_nothing_of_the_host_stays(harmless: str) -> None:
    assert Redactor(known_of(HOST, FACTS, "primary", "workstation")).text(harmless) == harmless


def test_the_copy_is_a_packet_that_holds(packet: Path) -> None:
    plan = packet / "lanes" / LAGUNA / "startup.log"
    plan.write_text("weights at /srv/weights/hub on bobs-rig.lan")
    for name, part in (("reservation.json", {"host": HOST}), ("host.json", {"facts": FACTS})):
        file = packet / name
        file.write_text(json.dumps({**json.loads(file.read_text()), **part}))
    old = json.loads((packet / "manifest.json").read_text())
    (packet / "manifest.json").write_text(json.dumps(manifest_document(PacketFolder(packet), old["identity"])))
    told = publish(packet, "workstation")
    assert told["changed"] == 3
    report = check_packet(packet / "published")
    assert report.problems == ()
    assert report.facts["published"] is True
    assert check_packet(packet).problems == ()
    figures = "capacity-1.json"
    one, other = (
        json.loads((root / "lanes" / LAGUNA / figures).read_text()) for root in (packet, packet / "published")
    )
    assert one["metrics"] == other["metrics"]


def test_a_copy_that_tells_too_much_is_found(packet: Path) -> None:
    publish(packet, "workstation")
    (packet / "published" / "lanes" / LAGUNA / "startup.log").write_text("at 192.168.7.7")
    rules = {problem.rule for problem in check_packet(packet / "published").problems}
    assert rules == {"manifest", "leak"}


@pytest.mark.parametrize(
    ("before", "after"),
    [({"a": 1}, {"a": 2}), ([1.0], [1]), ({"a": None}, {"a": "x"}), ([1, 2], [1]), ({"a": True}, {"a": 1})],
)
def test_a_number_that_would_move_stops_it(before: Any, after: Any) -> None:
    with pytest.raises(CampaignError, match="nothing was published"):
        same_numbers("f.json", before, after)


def test_secrets_are_replaced_before_they_become_evidence(tmp_path: Path) -> None:
    (tmp_path / "lane").mkdir()
    (tmp_path / "lane" / "startup.log").write_bytes(b"HF_TOKEN=abc123abc \xff loaded 3 shards\n--api-key abcdef99\n")
    (tmp_path / "lane" / "rows.jsonl").write_text('{"max_tokens": 512}\n')
    assert scrub(tmp_path) == ["lane/startup.log"]
    assert (
        tmp_path / "lane" / "startup.log"
    ).read_bytes() == b"HF_TOKEN=<secret> \xff loaded 3 shards\n--api-key <secret>\n"
