"""Text that a model, an engine or a host might answer with, to be shown and never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> ]]></svg></style></details> {{ 7 * 7 }} {% raw %} "
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202edesrever \ud83d & \"'`|"
)  # fmt: skip


def make_hostile(packet: Path, recipe: str) -> None:
    """Answers, reasons, caveats and names of ``packet`` hold it; the files stay what their schemas say."""
    lane = packet / "lanes" / recipe
    rows = [json.loads(line) for line in (lane / "rows.jsonl").read_text().splitlines()]
    for row in rows:
        if "reply" in row:
            row["reply"]["visible"] = row["reply"]["reasoning"] = HOSTILE
            row["request"] = HOSTILE
    (lane / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    verdict: dict[str, Any] = json.loads((packet / "verdict.json").read_text())
    verdict["reason"] = verdict["campaign"] = HOSTILE
    verdict["lanes"][0]["reason"] = HOSTILE
    verdict["lanes"][0]["caveats"] = [{"id": HOSTILE, "text": HOSTILE}]
    for gate in verdict["lanes"][0]["profiles"][0]["gates"]:
        for check in gate["checks"] or ():
            check["reason"] = HOSTILE
    (packet / "verdict.json").write_text(json.dumps(verdict))
    document = json.loads((lane / "capacity-1.json").read_text())
    document["profile"] = HOSTILE
    (lane / "capacity-1.json").write_text(json.dumps(document))
