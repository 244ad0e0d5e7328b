"""What real engines answered, as it came over the wire: ``tests/fixtures/recordings/<engine>/<name>.json``.

``{source, status, content_type, request, pieces: [[milliseconds since the request, text of one read], …]}``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Exchange
from ansible_collections.tandem.campaign.tests.fakes.server import Answer

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
VLLM = "vllm-0.25.1-tp2"
LLAMA_CPP = "xllamacpp-smollm2"


def recording(engine: str, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / engine / f"{name}.json").read_text(encoding="utf-8"))
    return document


def exchange(engine: str, name: str) -> Exchange:
    """The recording as the client would have kept it."""
    document = recording(engine, name)
    pieces = tuple((round(ms * 1e6), text.encode()) for ms, text in document["pieces"])
    return Exchange(document["status"], document["content_type"], pieces, pieces[-1][0] + 1)


def answer(engine: str, name: str) -> Answer:
    """The recording for a scripted server: status and body."""
    kept = exchange(engine, name)
    return int(kept.status or 0), kept.body
