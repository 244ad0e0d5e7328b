"""The demo with its engines in containers: a Docker Engine and a registry of its own, the demo's two recipes pinned to an image there.

Needs root (as any Docker Engine does) and what `make test-hosts` installs. Everything is below .demo/docker and ends with the command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import (
    ENGINE,
    private_daemon,
)
from ansible_collections.tandem.campaign.tests.fakes.registry import running_registry

RECIPES = ("smollm2-135m-instruct-q4-docker", "smollm2-135m-corrupt-control-docker")


def pinned_recipes(image: str) -> str:
    """The demo's recipes with an image instead of a lock."""
    text = (ROOT / "playbooks" / "recipes" / "demo.toml").read_text(encoding="utf-8")
    text = re.sub(r'name = "(smollm2-[^"]+)"', r'name = "\1-docker"', text)
    return text.replace('runtime = "process", lock = "xllamacpp.txt"', f'runtime = "docker", image = "{image}"')


def main() -> int:
    """Runs the campaign; ends with its status, or 1 where its packet is not what it has to be."""
    demo = Path(os.environ.get("TANDEM_DEMO_DIR") or ROOT / ".demo")
    place = demo / "docker"
    recipes = place / "recipes"
    recipes.mkdir(parents=True, exist_ok=True)
    with private_daemon() as daemon, running_registry(place / "registry") as registry:
        daemon.make_engine_images()
        image = daemon.publish(ENGINE, registry, "llama-cpp-server")
        (recipes / "demo-docker.toml").write_text(pinned_recipes(image), encoding="utf-8")
        variables = {
            "campaign_id": "demo-docker",
            "campaign_recipes": list(RECIPES),
            "campaign_recipe_paths": [str(recipes)],
            "campaign_docker_socket": daemon.socket,
            # The engine of a test has no bridge; on a workstation the port is published on loopback.
            "campaign_docker_network": "host",
            "campaign_dir": str(ROOT / "campaigns"),
        }
        command = [
            "ansible-playbook",
            "playbooks/campaign.yml",
            "-i",
            "inventories/demo",
            "-l",
            "primary",
            "-e",
            json.dumps(variables),
        ]
        done = subprocess.run(command, cwd=ROOT, check=False)
        left = daemon.cli("ps", "--all", "--format", "{{.Names}}")
        problems = [] if done.returncode else packet_problems(ROOT / "campaigns" / "demo-docker" / "primary", image)
        problems += [f"containers were left: {left}"] if left else []
    for problem in problems:
        sys.stderr.write(f"not as it has to be: {problem}\n")
    return done.returncode or (1 if problems else 0)


def packet_problems(packet: Path, image: str) -> list[str]:
    """What the packet has to show: outcomes, restore, the pinned image, the start as planned."""
    verdict = json.loads((packet / "verdict.json").read_text(encoding="utf-8"))
    outcomes = [lane["outcome"] for lane in verdict["lanes"]]
    found = []
    if outcomes != ["qualified_with_caveats", "rejected"]:
        found.append(f"outcomes {outcomes}")
    if not verdict["lanes"][1]["control"]["met"] or list((packet / "lanes" / RECIPES[1]).glob("capacity-*.json")):
        found.append("the control was not caught, or timed")
    if verdict["restore"] != {
        "verdict": "passed",
        "reason": "the state after equals the state before",
        "diff_count": 0,
    }:
        found.append(f"restore {verdict['restore']}")
    for name in RECIPES:
        lane = packet / "lanes" / name
        seen = json.loads((lane / "image.json").read_text(encoding="utf-8"))
        live = json.loads((lane / "live.json").read_text(encoding="utf-8"))
        if (seen["image"], seen["report"]["id"]) != (image, live["live"]["container"]["Image"]):
            found.append(f"{name}: image {seen['image']}, id {seen['report']['id']}")
        if live["deviations"] or live["unproven"] or live["identity"]["engine"]["image"] != image:
            found.append(f"{name}: {live['deviations']} {live['unproven']}")
        ending = str(json.loads((lane / "unload.json").read_text(encoding="utf-8"))["exit"])
        if "our own stop" not in ending and "exit status 0" not in ending:
            found.append(f"{name}: it ended as {ending!r}")
        if not (lane / "startup.container.json").is_file() or "listening" not in (lane / "startup.log").read_text(
            encoding="utf-8"
        ):
            found.append(f"{name}: log or inspect was lost with the container")
    return found


if __name__ == "__main__":
    sys.exit(main())
