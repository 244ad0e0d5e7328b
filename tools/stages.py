"""Runs what `make test` checks, stage by stage, and prints each stage's seconds. Ends with 1 at the first stage that fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "ansible_collections.tandem.campaign"

#: Integration tests that run campaigns with a real engine, whose threads spin: one at a time.
CAMPAIGN_TESTS = [
    f"tests/integration/test_{name}.py"
    for name in ("campaign", "demo", "interrupts", "bad_input", "docker_campaign", "install")
]
#: Stage -> commands. Commands of one stage are independent and run two at a time.
STAGES: dict[str, list[list[str]]] = {
    "lint": [
        ["mypy", "-p", f"{NAME}.plugins", "-p", f"{NAME}.tests"],
        ["ansible-lint", "-q", "--nocolor"],
        ["ruff", "format", "--check", "-q", "."],
        ["ruff", "check", "-q", "."],
        ["antsibull-changelog", "lint"],
        ["antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", "."],
    ],
    "unit": [["pytest", "tests/unit", "-n", "2"]],
    "sanity": [["tools/sanity.sh"]],
    # Two halves at once: whole campaigns, and the mode's, the images' and the engine's parts with scripted engines.
    "integration": [
        ["pytest", *CAMPAIGN_TESTS],
        ["pytest", "tests/integration", "tests/faults", *(f"--ignore={path}" for path in CAMPAIGN_TESTS)],
    ],
    "molecule": [["molecule", "test", "--all"]],
}


def run(commands: list[list[str]]) -> bool:
    """Whether all succeeded. The output of one that failed is printed whole, that of others not at all."""
    waiting = list(commands)
    running: list[tuple[list[str], subprocess.Popen[str], Path]] = []
    good = True
    scratch = ROOT / "build" / "stages"
    scratch.mkdir(parents=True, exist_ok=True)
    while waiting or running:
        while waiting and len(running) < 2:
            command = waiting.pop(0)
            log = scratch / f"{command[0].replace('/', '_')}-{len(waiting)}.log"
            with log.open("w", encoding="utf-8") as stream:
                process = subprocess.Popen(command, cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT, text=True)
            running.append((command, process, log))
        for item in list(running):
            command, process, log = item
            if process.poll() is None:
                continue
            running.remove(item)
            if process.returncode != 0:
                good = False
                print(
                    f"--- {' '.join(command)} ended with {process.returncode}\n{log.read_text(encoding='utf-8', errors='replace')}",
                    flush=True,
                )
        time.sleep(0.1)
    return good


def main() -> int:
    """The stages named on the command line, or all of them."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    names = sys.argv[1:] or list(STAGES)
    for name in names:
        start = time.monotonic()
        good = run(STAGES[name])
        print(f"{name:<12} {'passed' if good else 'FAILED'} {time.monotonic() - start:7.1f} s", flush=True)
        if not good:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
