# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check of every protocol against the built-in bad server; and checks that can't fail are found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates import negative_controls
from ansible_collections.tandem.campaign.plugins.module_utils._gates.finding import passed
from ansible_collections.tandem.campaign.plugins.module_utils._gates.functional import PROBES
from ansible_collections.tandem.campaign.plugins.module_utils._gates.negative_controls import NegativeControls
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_PROTOCOLS, read_protocol

PROTOCOLS: dict[str, dict[str, Any]] = {
    protocol.name: protocol.document
    for file in sorted(COLLECTION_PROTOCOLS.glob("*.toml"))
    if (protocol := read_protocol(file.stem.replace("-", "/", 1)))
}

TIMED = {"capacity": "timing", "burst": "queueing"}


def controls(name: str, folder: Path, **more: Any) -> dict[str, Any]:
    return NegativeControls({name: PROTOCOLS[name]}, folder, lambda *_a, **_k: None, **more).run()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_check_fails_where_it_should(name: str, tmp_path: Path) -> None:
    found = controls(name, tmp_path)
    assert found["verdict"] == "passed", found["reason"]
    ways: dict[str, set[str]] = {}
    for row in found["controls"]:
        ways.setdefault(row["check"], set()).add(row["way"])
    wanted = {*PROTOCOLS[name].get("check", {}), *PROTOCOLS[name].get("task", {})} or {TIMED[PROTOCOLS[name]["kind"]]}
    assert all({"silent", "fault"} < ways[check] for check in wanted)


def test_a_check_that_always_passes_is_found_out(tmp_path: Path) -> None:
    def agreeable(session: Any, name: str, _settings: Any) -> Any:
        session.chat(name, [{"role": "user", "content": "hello"}], max_tokens=8)
        return passed("fine")

    found = controls("functional/v1", tmp_path, probes={**PROBES, "coherence": agreeable})
    assert found["verdict"] == "failed"
    assert "functional/v1 coherence against loop: passed, failed was expected" in found["reason"]


def test_a_gate_that_takes_a_fault_for_a_verdict_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negative_controls, "judge_capacity", lambda *_a: ("failed", "no answer"))
    monkeypatch.setattr(negative_controls, "run_capacity", lambda *_a: None)
    monkeypatch.setattr(negative_controls, "capacity_document", lambda *_a: {})
    found = controls("capacity/v3", tmp_path)
    assert {(row["way"], row["met"]) for row in found["controls"]} == {
        ("loop", False), ("short", False), ("silent", True), ("fault", False)
    }  # fmt: skip


def test_nothing_to_control_is_no_pass(tmp_path: Path) -> None:
    assert NegativeControls({}, tmp_path, lambda *_a, **_k: None).run()["verdict"] == "failed"
