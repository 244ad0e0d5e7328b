"""A whole campaign whose engine is a container, through the playbooks: pinned in a real registry, proven, loaded, given back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import ENGINE, Daemon
from ansible_collections.tandem.campaign.tests.fakes.registry import running_registry

from .conftest import ROOT, DemoHost

PATCHES = """schema = "tandem.patch-set/v1"
name = "louder"
roots = ["/opt/tandem"]
proven = "this checkout's own launcher"

[[patch]]
file = "llama_cpp_server.py"
sha256 = "{sha256}"
gate = "always"
reason = "a line more in the log"
ticket = "none"

[[patch.edit]]
find = "    import xllamacpp\\n"
replace = "    import xllamacpp\\n\\n    say(\\"a patched engine\\")\\n"
"""


@pytest.fixture(scope="module")
def image(engines: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The engine's image by its repository digest."""
    with running_registry(tmp_path_factory.mktemp("registry")) as address:
        yield engines.publish(ENGINE, address, "llama-cpp-server")


@pytest.fixture(scope="module")
def host(demo_host: DemoHost, engines: Daemon, image: str) -> DemoHost:
    """The demo's host with the tests' engine, and the quick recipe in a container."""
    recipes = demo_host.folder / "recipes"
    recipes.mkdir()
    text = (ROOT / "tests" / "fixtures" / "recipes" / "quick.toml").read_text()
    text = text.replace('runtime = "process", lock = "xllamacpp.txt"', f'runtime = "docker", image = "{image}"')
    (recipes / "quick.toml").write_text(text)
    demo_host.variables |= {
        "campaign_recipe_paths": [str(recipes)],
        "campaign_docker_socket": engines.socket,
        "campaign_docker_network": "host",
    }
    return demo_host


def lane(host: DemoHost, name: str) -> Any:
    return json.loads((host.packet / "lanes" / "quick" / f"{name}.json").read_text())


def test_images_yml_proves_what_is_there(host: DemoHost) -> None:
    done = host.play(str(ROOT / "playbooks" / "images.yml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"changed=0 .*failed=0", done.stdout), done.stdout


def test_images_yml_pulls_what_is_missing_and_builds_what_is_derived(
    host: DemoHost, engines: Daemon, image: str
) -> None:
    """Pinned by base and patch set: the campaign runs in the image that was built here, and its packet says what was changed."""
    recipes = Path(host.variables["campaign_recipe_paths"][0])
    launcher = (ROOT / "plugins" / "module_utils" / "_engine" / "llama_cpp_server.py").read_bytes()
    (recipes / "patches").mkdir(exist_ok=True)
    (recipes / "patches" / "louder.toml").write_text(PATCHES.format(sha256=hashlib.sha256(launcher).hexdigest()))
    good = (recipes / "quick.toml").read_text()
    derived = good.replace(f'image = "{image}"', f'derived = {{ base = "{image}", patch_set = "louder" }}').replace(
        '"quick"', '"derived"'
    )
    (recipes / "derived.toml").write_text(derived.replace('"dies-at-load"', '"dies-derived"'))
    engines.cli("rmi", "--force", image)
    host.variables["campaign_recipes"] = ["derived"]
    try:
        first, second = (host.play(str(ROOT / "playbooks" / "images.yml")) for repeated in (False, True))
        assert first.returncode == 0, first.stdout + first.stderr
        assert re.search(r"changed=2 .*failed=0", first.stdout), first.stdout
        assert re.search(r"changed=0 .*failed=0", second.stdout), second.stdout
        done = host.campaign(campaign_id="derived")
        assert done.returncode == 0, done.stdout + done.stderr
        lane = host.folder / "campaigns" / "derived" / "primary" / "lanes" / "derived"
        seen = json.loads((lane / "image.json").read_text())
        live = json.loads((lane / "live.json").read_text())
        assert "a patched engine" in (lane / "startup.log").read_text()
        assert live["live"]["container"]["Image"] == seen["report"]["id"]
        (entry,) = seen["report"]["manifest"]["files"]
        assert (entry["path"], entry["before"]) == (
            "/opt/tandem/llama_cpp_server.py",
            hashlib.sha256(launcher).hexdigest(),
        )
        assert live["identity"]["engine"]["patch_set_sha256"] == seen["report"]["patch_set_sha256"]
        assert "/opt/tandem/llama\\_cpp\\_server.py" in (lane.parents[1] / "report.md").read_text()
    finally:
        host.variables["campaign_recipes"] = ["quick"]
        (recipes / "derived.toml").unlink()


def test_check_mode_starts_no_container(host: DemoHost, engines: Daemon) -> None:
    done = host.campaign("--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "container tandem-quick, network host" in done.stdout
    assert engines.cli("ps", "--all", "--quiet") == ""


def test_a_campaign_in_a_container(host: DemoHost, engines: Daemon, image: str) -> None:
    done = host.campaign()
    assert done.returncode == 0, done.stdout + done.stderr
    assert host.verdict()["lanes"][0]["outcome"] in ("qualified", "qualified_with_caveats")
    assert host.verdict()["restore"]["verdict"] == "passed"
    assert engines.cli("ps", "--all", "--quiet") == ""
    live, seen = lane(host, "live"), lane(host, "image")
    assert (live["deviations"], live["unproven"]) == ([], [])
    assert live["live"]["container"]["Image"] == seen["report"]["id"]
    assert (seen["image"], seen["report"]["index_digest"]) == (image, image.partition("@")[2])
    assert live["identity"]["engine"]["image"] == image
    assert "our own stop" in lane(host, "unload")["exit"]
    assert (host.packet / "lanes" / "quick" / "startup.container.json").is_file()
    assert "listening" in (host.packet / "lanes" / "quick" / "startup.log").read_text()
    report = (host.packet / "report.md").read_text()
    assert image.partition("@")[2] in report
    assert re.search(r"container [0-9a-f]{12} .* (\d+) of \1 settings", report), report
    again = host.campaign()
    assert re.search(r"changed=0 .*failed=0", again.stdout), again.stdout


def test_an_image_that_is_not_there_refuses_its_lane_and_stops_nothing(host: DemoHost, image: str) -> None:
    """Case D13."""
    recipes = Path(host.variables["campaign_recipe_paths"][0])
    wrong = f"{image.partition('@')[0]}@sha256:{'ab12' * 16}"
    good = (recipes / "quick.toml").read_text()
    (recipes / "quick.toml").write_text(good.replace(image, wrong))
    before = host.processes()["omni"]
    try:
        done = host.campaign(campaign_fresh=True, campaign_id="missing")
    finally:
        (recipes / "quick.toml").write_text(good)
    assert done.returncode == 2
    assert f"sha256:{'ab12' * 16} is not on this host" in " ".join(done.stdout.split())
    assert host.processes()["omni"] == before


def test_an_engine_that_dies_in_its_container_is_an_infrastructure_fault(host: DemoHost, engines: Daemon) -> None:
    done = host.campaign(campaign_recipes=["dies-at-load"], campaign_id="dies")
    assert done.returncode == 2
    text = " ".join(done.stdout.split())
    assert "exit status 2" in text
    assert "rejected these launch arguments: --no-such-option" in text
    assert engines.cli("ps", "--all", "--quiet") == ""
    assert host.is_as_the_owner_left_it()
