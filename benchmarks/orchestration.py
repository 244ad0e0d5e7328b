"""What the playbook costs beside engine and gates: seconds a campaign and a lane, from whole campaigns on the demo host.

    make demo-host && .venv/bin/python benchmarks/orchestration.py [runs]

A campaign's orchestration is its wall clock less, for every lane, the time from the engine's start to the gates' last event (both from the
packet's timeline). One lane and two lanes are run in turn; the lane's own share is the difference of their medians.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GATES = ("functional", "quality", "capacity")


def busy_seconds(timeline: list[dict[str, Any]]) -> float:
    """Engine and gate time: for each lane from ``starting …`` to the last event of its gates."""
    total, start, end = 0.0, None, 0.0
    for event in timeline:
        if event["stage"] == "load" and event["text"].startswith("starting"):
            total += end - start if start is not None else 0.0
            start = event["t"]
        if event["stage"] in GATES:
            end = event["t"]
    return total + (end - start if start is not None else 0.0)


def campaign(lanes: int, folder: Path) -> tuple[float, float]:
    """(wall, busy) of one fresh campaign of ``lanes`` short lanes, in seconds."""
    recipes = folder / "recipes"
    shutil.rmtree(folder / "bench", ignore_errors=True)
    shutil.copytree(ROOT / "tests" / "fixtures" / "recipes", recipes, dirs_exist_ok=True)
    quick = (recipes / "quick.toml").read_text(encoding="utf-8")
    (recipes / "second.toml").write_text(
        quick.replace('"quick"', '"second"').replace('"dies-at-load"', '"dies-too"'), encoding="utf-8"
    )
    variables = {
        "campaign_id": "bench", "campaign_dir": str(folder), "campaign_recipes": ["quick", "second"][:lanes],
        "campaign_recipe_paths": [str(recipes)],
    }  # fmt: skip
    start = time.monotonic()
    subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"), "playbooks/campaign.yml", "-i", "inventories/demo", "-l", "primary",
            "-e", json.dumps(variables),
        ],
        cwd=ROOT, env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    wall = time.monotonic() - start
    lines = (folder / "bench" / "primary" / "timeline.jsonl").read_text(encoding="utf-8").splitlines()
    return wall, busy_seconds([json.loads(line) for line in lines])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    spent: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as scratch:
        for _run in range(runs):
            for lanes, seconds in spent.items():
                wall, busy = campaign(lanes, Path(scratch))
                seconds.append(wall - busy)
                print(
                    f"{lanes} lanes: wall {wall:.1f} s, engine and gates {busy:.1f} s, orchestration {wall - busy:.1f} s",
                    flush=True,
                )
    one, two = (statistics.median(seconds) for seconds in spent.values())
    print(f"median of {runs}: campaign with one lane {one:.1f} s, a further lane {two - one:.1f} s")


if __name__ == "__main__":
    main()
