"""A packet holds, and no forged one does. Who forges makes the manifest anew; a signature is what he can't."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._packet.check import check_packet
from ansible_collections.tandem.campaign.plugins.module_utils._packet.folder import PacketFolder
from ansible_collections.tandem.campaign.plugins.module_utils._packet.manifest import manifest_document
from ansible_collections.tandem.campaign.plugins.module_utils._packet.signature import sign_manifest
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import EvidenceError
from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import packet_check_program
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet

LAGUNA, DEEPSEEK = "laguna-s-2.1-nvfp4-tp2", "deepseek-v4-flash-0731-tp2"
Forge = Callable[[Path], object]


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seed_packet(tmp_path_factory.mktemp("genuine"), LAGUNA).folder


@pytest.fixture
def packet(genuine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(genuine, tmp_path / "h"))


def relist(packet: Path) -> None:
    """What a forger does, too: the manifest of what lies there now."""
    old = json.loads((packet / "manifest.json").read_text())
    (packet / "manifest.json").write_text(json.dumps(manifest_document(PacketFolder(packet), old["identity"])))


def edit(name: str, change: Callable[[dict[str, Any]], object]) -> Forge:
    """A forged JSON document."""

    def forge(packet: Path) -> None:
        document = json.loads((packet / name).read_text())
        change(document)
        (packet / name).write_text(json.dumps(document))

    return forge


def edit_row(number: int, change: Callable[[dict[str, Any]], object]) -> Forge:
    """A forged row."""

    def forge(packet: Path) -> None:
        file = packet / LANE / "rows.jsonl"
        lines = file.read_text().splitlines()
        row = json.loads(lines[1 + number])
        change(row)
        lines[1 + number] = json.dumps(row)
        file.write_text("\n".join(lines) + "\n")

    return forge


def drop_row(packet: Path) -> None:
    file = packet / LANE / "rows.jsonl"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")


def copy_attempt(packet: Path) -> None:
    earlier = packet / LANE / "attempts" / "a"
    earlier.mkdir(parents=True)
    shutil.copy(packet / LANE / "attempt.json", earlier)


def set_in(*path: str | int, value: object) -> Callable[[dict[str, Any]], object]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


LANE = f"lanes/{LAGUNA}"
IMAGE = "vllm/vllm-openai@sha256:" + "0" * 64


def everywhere(*path: str, value: object) -> Forge:
    """The same lie in every document of the lane."""

    def forge(packet: Path) -> None:
        for file in (packet / LANE).glob("*.json"):
            edit(f"{LANE}/{file.name}", set_in("identity", *path, value=value))(packet)

    return forge


#: name -> (the forgery, the rule that finds it, what is said of it)
FORGED: dict[str, tuple[Forge, str, str]] = {
    "a better decode rate": (edit(f"{LANE}/capacity-1.json", set_in("metrics", "decode_tok_s", "p50", value=99.9)), "verdict", "decode_tok_s/p50 is 99.9"),
    "a better aggregate": (edit(f"{LANE}/capacity-1.json", set_in("aggregate_output_tok_s", value=99.9)), "verdict", "aggregate_output_tok_s"),
    "a shorter clock": (edit(f"{LANE}/capacity-1.json", set_in("wall_s", value=0.001)), "verdict", "its clock says 0.001 s"),
    "a longer clock": (edit(f"{LANE}/capacity-1.json", set_in("wall_s", value=1e6)), "verdict", "its clock says"),
    "a failure forgotten": (edit(f"{LANE}/capacity-2.json", set_in("completed", value=5)), "verdict", "completed is 5"),
    "a check that passed": (edit(f"{LANE}/functional.json", set_in("profiles", 0, "checks", 0, "reason", value="better")), "verdict", "checks/0/reason"),
    "a wrong answer": (edit_row(0, set_in("reply", "content", value="London")), "verdict", ""),
    "another question": (edit_row(0, set_in("request_sha256", value="0" * 64)), "verdict", "the request is not what known_answer sends"),
    "another sampling": (edit_row(0, set_in("request", "temperature", value=1)), "verdict", "settings are not what known_answer sends"),
    "a faster row": (edit_row(-2, lambda row: row["reply"].update(first_output_ns=1)), "verdict", ""),
    "a row of another gate": (edit_row(5, set_in("check", value="known_answer")), "verdict", "row 5 is"),
    "a row less": (drop_row, "verdict", "rows end where"),
    "no rows": (lambda packet: (packet / LANE / "rows.jsonl").unlink(), "member", "is missing: the lane is qualified"),
    "an outcome": (edit(f"{LANE}/verdict.json", set_in("outcome", value="qualified")), "verdict", "outcome is 'qualified'"),
    "caveats left out": (edit(f"{LANE}/verdict.json", set_in("caveats", value=[])), "verdict", "/caveats"),
    "the host's outcome": (edit("verdict.json", set_in("outcome", value="failed")), "verdict", "its lanes make it passed"),
    "a lane's outcome for the host": (edit("verdict.json", set_in("lanes", 0, "outcome", value="rejected")), "verdict", "/outcome"),
    "a promotion": (edit("verdict.json", set_in("promotion", value="production")), "verdict", "nothing is ever promoted"),
    "a host that wasn't restored": (edit("state-after.json", set_in("services", "omni", "state", value="exited")), "verdict", "/count is 0"),
    "no state before": (lambda packet: (packet / "state-before.json").unlink(), "member", "the host was taken"),
    "another recipe": (edit(f"{LANE}/recipe.json", set_in("recipe", "limits", "start_s", value=1)), "link", "recipe_sha256"),
    "another plan": (edit(f"{LANE}/plan.json", set_in("plan", "argv", value=["engine"])), "link", "plan_sha256"),
    "another live configuration": (edit(f"{LANE}/live.json", set_in("live", "environment", value={"A": "1"})), "link", "live_sha256"),
    "another contract": (edit(f"{LANE}/contract.json", set_in("contract", "arguments", value=["--x"])), "link", "contract_sha256"),
    "another host class": (edit(f"{LANE}/topology.json", set_in("topology", "gpus", value=["Better"])), "link", "topology_sha256"),
    "other weights": (edit(f"{LANE}/snapshot.json", set_in("snapshot", "proof", value="6" * 64)), "link", "weights_sha256"),
    "another engine version": (edit(f"{LANE}/engine.json", set_in("version", value="9")), "link", "engine_version"),
    "another protocol": (edit(f"{LANE}/protocols.json", set_in("protocols", "capacity/v3", "text", value="x = 1")), "link", "the hash of capacity/v3"),
    "an easier check": (
        edit(f"{LANE}/protocols.json", set_in("protocols", "functional/v1", "content", "check", "known_answer", "pattern", value=".")),
        "link", "is not what its text says",
    ),
    "another image, in one document": (edit(f"{LANE}/live.json", set_in("identity", "engine", "image", value=IMAGE)), "identity", "engine is"),
    "another image, everywhere": (everywhere("engine", "image", value=IMAGE), "link", "lane_key"),
    "no revision told": (everywhere("weights_sha256", value=None), "identity", "weights_sha256 is unknown without a reason"),
    "no identity": (edit(f"{LANE}/models.json", lambda document: document.pop("identity")), "identity", "has no identity block"),
    "an unknown schema": (edit(f"{LANE}/nccl.json", set_in("schema", value="tandem.nccl/v9")), "schema", "none that this version knows"),
    "a document under another's name": (edit(f"{LANE}/nccl.json", set_in("schema", value="tandem.fit/v1")), "schema", "a file of this name has"),
    "no JSON": (lambda packet: (packet / LANE / "fit.json").write_text("{"), "file", "is no JSON document"),
    "a key twice": (lambda packet: (packet / LANE / "fit.json").write_text('{"schema": "tandem.fit/v1", "schema": "tandem.fit/v1"}'), "file", "twice"),
    "a link out of the packet": (lambda packet: (packet / LANE / "extra.log").symlink_to("/etc/hostname"), "file", "no regular file"),
    "a second final attempt": (copy_attempt, "verdict", "two attempts are final"),
    "documents of no verdict": (lambda packet: (packet / LANE / "verdict.json").unlink(), "member", "stands without a verdict"),
    "a lane of nobody": (lambda packet: shutil.copytree(packet / LANE, packet / "lanes" / "other"), "verdict", "has no lane of this name"),
    "a token in a log": (lambda packet: (packet / LANE / "startup.log").write_text("HF_TOKEN=hf_" + "a" * 34), "leak", "a Hugging Face token"),
    "a key on a command line": (lambda packet: (packet / LANE / "startup.log").write_text("serve --api-key abcdef123456"), "leak", "a key on a command line"),
    "a private key": (lambda packet: (packet / "journal.jsonl").write_text('{"a": "-----BEGIN OPENSSH PRIVATE KEY-----"}\n'), "leak", "a private key"),
    "a shape of its own": (edit("verdict.json", set_in("lanes", value="none")), "schema", "is not of its schema's shape"),
}  # fmt: skip


def test_a_genuine_packet_holds(genuine: Path) -> None:
    report = check_packet(genuine)
    assert report.problems == ()
    assert (report.facts["lanes"], report.facts["signed_by"]) == ([LAGUNA], None)


def test_so_does_one_with_a_failed_request(tmp_path: Path) -> None:
    packet = make_seed_packet(tmp_path, DEEPSEEK).folder
    capacity = json.loads((packet / "lanes" / DEEPSEEK / "capacity-1.json").read_text())
    assert (capacity["completed"], capacity["failed"]) == (11, 1)
    assert check_packet(packet).problems == ()


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_packet_does_not(packet: Path, name: str) -> None:
    forge, rule, says = FORGED[name]
    forge(packet)
    if name != "a link out of the packet":
        relist(packet)
    found = [(problem.rule, str(problem)) for problem in check_packet(packet).problems]
    assert any(rule == kind and says in text for kind, text in found), found


def test_without_a_new_manifest_every_change_is_seen(packet: Path) -> None:
    (packet / LANE / "startup.log").write_text("other words")
    (packet / LANE / "more.log").write_text("more")
    (packet / LANE / "fit.json").unlink()
    found = {problem.path: problem.text for problem in check_packet(packet).problems if problem.rule == "manifest"}
    assert {path.rsplit("/", 1)[1] for path in found} == {"startup.log", "more.log", "fit.json"}


def test_no_packet(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="it is no packet"):
        check_packet(tmp_path)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "owner", "-f", str(tmp_path / "key")], check=True
    )
    (tmp_path / "signers").write_text(f"owner@example.org {(tmp_path / 'key.pub').read_text()}")
    return tmp_path / "key"


def test_signed_by_the_owner(packet: Path, key: Path) -> None:
    sign_manifest(packet, key)
    report = check_packet(packet, key.with_name("signers"), "owner@example.org")
    assert report.problems == ()
    assert report.facts["signed_by"].startswith("SHA256:")


def test_a_signature_does_not_survive_a_new_manifest(packet: Path, key: Path) -> None:
    sign_manifest(packet, key)
    (packet / LANE / "startup.log").write_text("other words")
    relist(packet)
    (problem,) = check_packet(packet).problems
    assert problem.rule == "signature"


def test_somebody_else_signed(packet: Path, key: Path) -> None:
    sign_manifest(packet, key)
    (problem,) = check_packet(packet, key.with_name("signers"), "boss@example.org").problems
    assert problem.rule == "signature"
    (packet / "manifest.json.sig").unlink()
    (problem,) = check_packet(packet, key.with_name("signers"), "owner@example.org").problems
    assert "is not signed" in problem.text


def test_the_program_needs_nothing_but_python(packet: Path, tmp_path: Path) -> None:
    program = tmp_path / "packet_check.pyz"
    program.write_bytes(packet_check_program())
    command = [sys.executable, "-I", "-S", str(program), str(packet)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("holds: ")
    FORGED["an outcome"][0](packet)
    relist(packet)
    answer = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["problems"][0]["rule"] == "verdict"
    assert subprocess.run([*command[:-1], str(tmp_path)], capture_output=True, check=False).returncode == 2
