"""A hub's cache on disk, and no network."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.tests.fakes.cache import safetensors_cache


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return safetensors_cache(tmp_path / "hub")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError("the proof asked for the network")

    monkeypatch.setattr("socket.socket", refuse)
