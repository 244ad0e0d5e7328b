"""Every plugin can be looked up, and says what it takes, shows and returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))


def shown(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-doc"), "--json", *arguments],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_modules_and_lookup() -> None:
    names = [f"tandem.campaign.{name}" for name in MODULES]
    documents = shown(*names)
    assert set(documents) == set(names)
    for name, document in documents.items():
        assert document["doc"]["description"], name
        assert name in document["examples"], name
        assert document["return"], name
        assert all(option["description"] for option in document["doc"]["options"].values()), name
    lookup = shown("-t", "lookup", "tandem.campaign.recipe")["tandem.campaign.recipe"]
    assert lookup["doc"]["options"]["_terms"]["required"]


@pytest.mark.parametrize("name", ["campaign", "preflight"])
def test_roles(name: str) -> None:
    document = shown("-t", "role", f"tandem.campaign.{name}")[f"tandem.campaign.{name}"]
    assert all(option["description"] for option in document["entry_points"]["main"]["options"].values())
