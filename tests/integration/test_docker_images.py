"""Images in a real Docker Engine and a real registry: proven before use, pulled and derived as steps of their own."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.receipt import COARSE_NS
from ansible_collections.tandem.campaign.plugins.module_utils._cache.report import snapshot_report
from ansible_collections.tandem.campaign.plugins.module_utils._images.derive import derive_image
from ansible_collections.tandem.campaign.plugins.module_utils._images.derived import find_derived
from ansible_collections.tandem.campaign.plugins.module_utils._images.patches import MANIFEST
from ansible_collections.tandem.campaign.plugins.module_utils._images.store import inspect_image, pull
from ansible_collections.tandem.campaign.plugins.module_utils._images.verify import verify_image
from ansible_collections.tandem.campaign.plugins.module_utils._images.volume import verify_in_volume
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Cache
from ansible_collections.tandem.campaign.plugins.module_utils._words.patch import Edit, Patch, PatchSet
from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import verifier_program
from ansible_collections.tandem.campaign.tests.fakes.cache import REPO, REVISION, safetensors_cache
from ansible_collections.tandem.campaign.tests.fakes.docker_daemon import SCRIPTED, TINY, Daemon, private_daemon
from ansible_collections.tandem.campaign.tests.fakes.nvidia import UUIDS, Cards
from ansible_collections.tandem.campaign.tests.fakes.registry import running_registry

MACHINE = "x86_64"
ROOT = "/usr/lib/python3/dist-packages"
SOURCE = "def answer():\n    return 41\n"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture(scope="module")
def tiny(registry: str, daemon: Daemon) -> str:
    """An image by its repository digest."""
    return daemon.publish(TINY, registry, "tiny")


def report(daemon: Daemon, image: str, **wanted: Any) -> dict[str, Any]:
    return verify_image(daemon.docker(), {"image": image, **wanted}, MACHINE, look_inside=True)


def test_three_values_that_are_not_one_another(daemon: Daemon, tiny: str) -> None:
    found = report(daemon, tiny)
    assert found["problems"] == []
    assert found["index_digest"] == tiny.partition("@")[2]
    assert found["id"].startswith("sha256:")
    assert found["id"] != found["index_digest"]
    assert (found["platform"], found["platform_digest"]) == ("linux/amd64", None)


def test_an_image_that_is_absent_and_a_tag_that_is_another_image(daemon: Daemon, tiny: str) -> None:
    """Case D13: both forms are settled before a start, and nothing matches by tag."""
    missing = f"{tiny.partition('@')[0]}@sha256:{'ab12' * 16}"
    (problem,) = report(daemon, missing)["problems"]
    assert f"{missing} is not on this host" in problem
    assert f":1 is there with {tiny.partition('@')[2]}, which is another image" in problem
    (problem,) = report(daemon, f"registry.example/engine@sha256:{'ab12' * 16}")["problems"]
    assert "tandem.campaign.images" in problem
    assert "another image" not in problem


def test_pulled_by_digest_as_a_step_of_its_own(daemon: Daemon, tiny: str, registry: str) -> None:
    daemon.cli("rmi", "--force", f"{registry}/tiny:1", TINY)
    assert inspect_image(daemon.docker(), tiny) is None
    told: list[str] = []
    pull(daemon.docker(), tiny, told.append)
    assert report(daemon, tiny)["problems"] == []
    with pytest.raises(Exception, match="Docker can't pull"):
        pull(daemon.docker(), f"{registry}/tiny@sha256:{'0' * 64}", told.append)
    daemon.make_images()


def test_for_another_processor(daemon: Daemon, tiny: str) -> None:
    wanted = {"image": tiny}
    (problem,) = verify_image(daemon.docker(), wanted, "aarch64", look_inside=False)["problems"]
    assert "is for linux/amd64, the engine's machine is linux/arm64" in problem


def test_environment_and_nccl_files_are_read_and_secrets_are_not(engines: Daemon, registry: str) -> None:
    files = {"etc/nccl.conf": b"# by the image\nNCCL_P2P_LEVEL=SYS\nNCCL_DEBUG = WARN\n"}
    changes = ["ENV NCCL_DEBUG=VERSION", "ENV HF_TOKEN=hf_SyntheticTokenAAAA1111", 'ENTRYPOINT ["vllm", "serve"]']
    engines.derive(TINY, "tandem-test/smuggler:1", files, *changes)
    found = report(engines, engines.publish("tandem-test/smuggler:1", registry, "smuggler"))
    assert found["environment"] == {"NCCL_DEBUG": "VERSION", "NCCL_P2P_LEVEL": "SYS"}
    assert found["entrypoint"] == ["vllm", "serve"]
    assert "HF_TOKEN" in found["other_variables"]
    assert "hf_SyntheticTokenAAAA1111" not in json.dumps(found)


def test_gpu_requests_are_served_with_exactly_these_devices(engines: Daemon, registry: str) -> None:
    image = engines.publish(SCRIPTED, registry, "scripted")
    assert report(engines, image, devices=list(UUIDS))["gpu_probe"]["verdict"] == "passed"
    engines.derive(
        SCRIPTED,
        "tandem-test/all:1",
        {"opt/devices": ",".join((*UUIDS, "GPU-cccccccc-0000-4000-8000-00000000000c")).encode()},
    )
    found = report(engines, engines.publish("tandem-test/all:1", registry, "all"), devices=[UUIDS[0]])
    assert "of 1 GPUs asked for" in found["problems"][0]
    assert "the container sees 3" in found["problems"][0]
    # An image without nvidia-smi proves that the request is served, and not which devices came.
    bare = report(engines, engines.publish(TINY, registry, "tiny"), devices=[UUIDS[0]])
    assert (bare["problems"], bare["gpu_probe"]["verdict"]) == ([], "inconclusive")
    assert engines.cli("ps", "--all", "--quiet") == ""


def test_an_engine_without_gpu_support_is_found_out_before_anything_is_stopped(
    tiny: str, cards: Cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case B5: a service that runs is untouched, and nothing is said of the model."""
    monkeypatch.setenv("PATH", os.environ["PATH"].replace(f"{cards.folder}:", ""))
    with private_daemon() as plain:
        pull(plain.docker(), tiny, lambda _text: None)
        plain.cli("run", "--detach", "--name", "omni", "--network", "none", TINY, "sleep", "100")
        before = plain.cli("inspect", "--format", "{{.Id}} {{.State.StartedAt}}", "omni")
        (problem,) = report(plain, tiny, devices=list(UUIDS))["problems"]
        assert plain.cli("inspect", "--format", "{{.Id}} {{.State.StartedAt}}", "omni") == before
        plain.cli("rm", "--force", "omni")
    assert "Docker cannot serve GPU requests here" in problem
    assert "NVIDIA Container Toolkit" in problem
    assert "Docker Desktop" in problem


def wheel() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("added/__init__.py", "VALUE = 7\n")
        archive.writestr("added-1.0.dist-info/METADATA", "Name: added\nVersion: 1.0\n")
    return buffer.getvalue()


def patch_set(**changes: Any) -> PatchSet:
    why: Any = {"gate": "always", "reason": "a test", "ticket": "none"}
    edited = Patch(
        sha256=hashlib.sha256(SOURCE.encode()).hexdigest(), file="engine_part/core.py", edit=(Edit("return 41", "return 42"),), **why
    )  # fmt: skip
    added = Patch(
        sha256=hashlib.sha256(wheel()).hexdigest(),
        wheel="added==1.0",
        url="https://x.invalid/added-1.0-py3-none-any.whl",
        **why,
    )
    fields: dict[str, Any] = {
        "schema": "tandem.patch-set/v1",
        "name": "a-test",
        "roots": ("/nowhere", ROOT),
        "patch": (edited, added),
        "proven": "here",
    }
    return PatchSet(**{**fields, **changes})


@pytest.fixture(scope="module")
def base(engines: Daemon, registry: str) -> str:
    files = {f"{ROOT[1:]}/engine_part/core.py": SOURCE.encode(), f"{ROOT[1:]}/engine_part/__init__.py": b""}
    engines.derive(SCRIPTED, "tandem-test/base:1", files, "ENV NCCL_VERSION=2.28.9")
    return engines.publish("tandem-test/base:1", registry, "base")


def test_a_derived_image_is_built_once_and_believed_for_what_is_inside(
    engines: Daemon, base: str, tmp_path: Path
) -> None:
    (tmp_path / "added.whl").write_bytes(wheel())
    wheels = {"added==1.0": str(tmp_path / "added.whl")}
    made = derive_image(engines.docker(), base, patch_set(), "5" * 64, wheels, lambda _text: None)
    assert made["changed"]
    again = derive_image(engines.docker(), base, patch_set(), "5" * 64, {}, lambda _text: None)
    assert (again["changed"], again["id"]) == (False, made["id"])
    inside = "import added, engine_part.core as c; print(added.VALUE, c.answer())"
    assert (
        engines.cli("run", "--rm", "--network", "none", "--entrypoint", "python3", made["id"], "-c", inside) == "7 42"
    )
    config = json.loads(engines.cli("inspect", made["id"]))[0]["Config"]
    assert config["Labels"]["tandem.campaign.base"] == base
    assert "NCCL_VERSION=2.28.9" in config["Env"]
    assert config["Cmd"] == json.loads(engines.cli("inspect", base))[0]["Config"]["Cmd"]
    entries = {entry["path"]: entry for entry in made["manifest"]["files"]}
    assert entries[f"{ROOT}/engine_part/core.py"]["before"] == hashlib.sha256(SOURCE.encode()).hexdigest()
    wanted = {"base": base, "patch_set": "a-test", "sha256": "5" * 64}
    seen = report(engines, f"{base} + a-test", derived=wanted)
    assert (seen["id"], seen["problems"]) == (made["id"], [])
    assert engines.cli("ps", "--all", "--quiet") == ""


def test_an_image_that_only_bears_the_labels_is_not_believed(engines: Daemon, base: str) -> None:
    manifest = {
        "base": base,
        "patch_set_sha256": "6" * 64,
        "files": [{"path": f"{ROOT}/engine_part/core.py", "after": "0" * 64}],
    }
    labels = [f"LABEL tandem.campaign.base={base}", f"LABEL tandem.campaign.patch-set-sha256={'6' * 64}"]
    engines.derive(TINY, "tandem-test/forged:1", {MANIFEST[1:]: json.dumps(manifest).encode()}, *labels)
    problems = find_derived(engines.docker(), {"base": base, "patch_set": "a-test", "sha256": "6" * 64}, "forged")[
        "problems"
    ]
    assert any("is not made from that base" in problem for problem in problems)
    assert any("core.py has sha256 no file" in problem for problem in problems)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sha256": "0" * 64}, r"engine_part/core\.py: its sha256 is [0-9a-f]{64}, the patch was written for 0{64}"),
        ({"edit": (Edit("return 43", "x"),)}, r"engine_part/core\.py: the text to replace stands there 0 times"),
        ({"edit": (Edit("return 41", "return ("),)}, r"engine_part/core\.py: the edited file does not compile"),
        ({"file": "engine_part/other.py"}, r"engine_part/other\.py: it has to be below exactly one root"),
    ],
)
def test_a_guard_that_does_not_hold_names_the_file_and_builds_nothing(
    engines: Daemon, base: str, change: dict[str, Any], says: str
) -> None:
    before = set(engines.cli("images", "--all", "--quiet").split())
    good = patch_set().patch[0]
    bad = Patch(**{**vars(good), **change})
    with pytest.raises(RefusedError, match=says):
        derive_image(engines.docker(), base, patch_set(patch=(bad,)), "7" * 64, {}, lambda _text: None)
    assert set(engines.cli("images", "--all", "--quiet").split()) == before
    assert engines.cli("ps", "--all", "--quiet") == ""


def test_a_snapshot_in_a_volume_has_the_proof_of_the_same_snapshot_in_a_folder(engines: Daemon, tmp_path: Path) -> None:
    safetensors_cache(tmp_path / "hub")
    engines.cli("volume", "create", "hfcache")
    engines.cli("create", "--name", "filler", "--volume", "hfcache:/v", SCRIPTED)
    engines.cli("cp", f"{tmp_path}/hub", "filler:/v/")
    engines.cli("rm", "filler")
    program, image = tmp_path / "verify.pyz", engines.cli("inspect", "--format", "{{.Id}}", SCRIPTED)
    program.write_bytes(verifier_program())
    wanted = {"repo": REPO, "revision": REVISION}

    def in_volume(receipt: Any = None, **changes: Any) -> dict[str, Any]:
        cache = Cache(volume="hfcache", hub="hub")
        return verify_in_volume(
            engines.docker(), cache, image, program, {**wanted, **changes}, "hash", lambda *_told: None, receipt
        )

    here = snapshot_report(tmp_path / "hub", wanted, "hash", lambda *_told: None)
    time.sleep(COARSE_NS / 1e9)  # a file written just now is not vouched for
    there = in_volume()
    assert here["proof"] is not None
    own = {"seconds": 0, "verified_at": 0, "receipt": None}
    assert {**there, **own} == {**here, **own}
    assert in_volume(there["receipt"])["reused"] == len(here["files"])
    assert "expected a folder named by the pinned revision" in in_volume(revision="b" * 40)["texts"][0]
    volume_missing = verify_in_volume(
        engines.docker(), Cache(volume="other"), image, program, wanted, "hash", lambda *_told: None, None
    )
    assert (volume_missing["proof"], "there is no volume other" in volume_missing["texts"][0]) == (None, True)
    assert engines.cli("ps", "--all", "--quiet") == ""
