"""How well the gates measure, and what they cost: against a played engine that writes down when it sent what.

    make bench-gates
    PEERS=1 AIPERF=/path/to/aiperf make bench-gates      # and AIPerf beside, in the same run

Ground truth is the engine's own send times: error = reported - (the engine's first write - the request's first byte at the engine). Prints every
figure with its bar and ends with 1 where one is missed. Not a test.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import peers
from ansible_collections.tandem.campaign.plugins.module_utils._api.client import Client
from ansible_collections.tandem.campaign.plugins.module_utils._engine.adapters import endpoint_adapter
from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import Lines
from ansible_collections.tandem.campaign.plugins.module_utils._gates.session import Session
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError
from ansible_collections.tandem.campaign.plugins.module_utils._words.profile import (
    CapacityGate,
    FunctionalGate,
    Profile,
    Reasoning,
)
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import Suite, suite_of
from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import keeper_program
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import read_protocol
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.rehearsal import BEHAVIOURS, SEEDS

ROOT = Path(__file__).resolve().parents[1]
PLAYED = ROOT / "tests" / "fakes" / "played_engine.py"
REQUESTS, PROMPT_TOKENS, ANSWER_TOKENS = 12, 30_000, 200
#: 0.3 s to the first of 200 chunks 5 ms apart, a role-only delta before it; the first 40 are reasoning.
PACED = """schema = "tandem.played-engine/v1"
overhead_s = 0.0
prefill_tok_s = 100_000
decode_tok_s = 200
role = "at_once"
answer_tokens = 160
reasoning = { tokens = 40, default = true }
"""
#: Of twelve: one refused with 500, one whose whole answer is reasoning, one cut in its middle.
FAULTY = (
    PACED
    + """
[[fault]]
kind = "status"
path = "/v1/chat"
requests = [3]
values = { status = 500 }
[[fault]]
kind = "reasoning_only"
path = "/v1/chat"
requests = [6]
[[fault]]
kind = "cut"
path = "/v1/chat"
requests = [9]
"""
)
WANTED_FAULTS = {3: "http_status", 6: "no_visible_answer", 9: "cut"}
PROFILE = Profile(
    "on",
    FunctionalGate("functional/v1", ("known_answer",)),
    Reasoning("on"),
    None,
    (CapacityGate("capacity/v4-reasoning", PROMPT_TOKENS + ANSWER_TOKENS + 16, REQUESTS, 1, ANSWER_TOKENS),),
)
PLAYBOOK_ROUNDS = 3
#: The engine has a core of its own, as on a host where the GPUs work: else who has just been written to waits for who goes on writing.
ENGINE_CORE, *OTHER_CORES = sorted(os.sched_getaffinity(0))
#: A rehearsal's times are shortened by this; the gates' own time isn't.
SCALE = 0.05
LANE = "nemotron3-super-120b-a12b-nvfp4-tp2"


@contextmanager
def played(folder: Path, behaviour: str, context_tokens: int, scale: float = 1.0) -> Iterator[tuple[str, Path]]:
    """(base URL, the record) of a played engine in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "behaviour.toml").write_text(behaviour)
    record = folder / "record.jsonl"
    command = [sys.executable, str(PLAYED), "--behaviour", str(folder / "behaviour.toml"), "--record", str(record)]
    options = ["--time-scale", str(scale), "--max-model-len", str(context_tokens)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(process.pid, {ENGINE_CORE})
    assert process.stdout
    try:
        (address,) = islice((line.split()[-1] for line in process.stdout if line.startswith("listening on ")), 1)
        yield address, record
    finally:
        process.terminate()
        process.wait()


def records(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def busy_s(record: Path) -> float:
    """How long the engine was busy: from each request's first byte to its last write. Pages that are got are not among it."""
    return float(sum(line["end_ns"] for line in records(record))) / 1e9


def run_program(folder: Path, suite: Suite, url: str) -> tuple[float, Any]:
    """(wall, resource usage) of the gates' program alone, as the playbook starts it on a host."""
    program = folder / "keeper.pyz"
    program.write_bytes(keeper_program())
    protocols = {name: found.document for name in names_of(suite) if (found := read_protocol(name))}
    (folder / "lane").mkdir()
    request = {
        "state": "gated", "suite": to_document(suite), "protocols": protocols, "base_url": url, "folder": str(folder / "lane"),
        "identity": to_document(identity()), "seed": "bench", "key_file": None, "devices": {},
    }  # fmt: skip
    began = time.monotonic()
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, str(program), "call", "--state-dir", str(folder)], stdin=subprocess.PIPE, stdout=out
        )
        assert process.stdin
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
        _pid, _status, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    (last,) = (folder / "out").read_text().splitlines()[-1:]
    if "result" not in json.loads(last) or json.loads(last)["result"]["fault"]:
        raise SystemExit(f"the gates did not run: {last[:500]}")
    return time.monotonic() - began, usage


def names_of(suite: Suite) -> list[str]:
    return list(dict.fromkeys(name for profile in suite.profile for name in profile.protocols()))


def accuracy(folder: Path) -> dict[str, Any]:
    """Errors of the capacity lane's reported moments, in seconds, and what the program took."""
    suite = Suite("played", "played", "vllm", 32768, (PROFILE,))
    with played(folder, PACED, 32768) as (url, record):
        wall, usage = run_program(folder, suite, url)
        truth = [line for line in records(record) if line["streamed"]][-REQUESTS:]
        own = wall - busy_s(record)
    rows = [json.loads(line) for line in (folder / "lane" / "rows.jsonl").read_text().splitlines()]
    replies = [row["reply"] for row in rows if str(row.get("check", "")).startswith("capacity") and not row["warmup"]]
    assert len(replies) == len(truth) == REQUESTS
    pairs = list(zip(replies, truth, strict=True))
    return {
        "first_output": [abs(reply["first_output_ns"] - true["first_output_ns"]) / 1e9 for reply, true in pairs],
        "first_visible": [abs(reply["first_visible_ns"] - true["first_visible_ns"]) / 1e9 for reply, true in pairs],
        "inter_token": [abs(gap(reply) - gap(true)) / 1e9 for reply, true in pairs],
        "apart": [(true["first_visible_ns"] - true["first_output_ns"]) / 1e9 for true in truth],
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss / 1024,
        "own": own,
    }


def gap(moments: Mapping[str, Any]) -> float:
    """Nanoseconds from a token to the next, over the whole answer."""
    return float(moments["last_output_ns"] - moments["first_output_ns"]) / float(moments["completion_tokens"] - 1)


def playbook(folder: Path, state: Path) -> tuple[float, float]:
    """(wall less the engine's time, CPU) of the whole `gate.yml` with its packet and report."""
    with played(folder, PACED, 32768) as (url, record):
        variables = {
            "gate_url": url, "campaign_dir": str(folder / "packets"), "campaign_state_dir": str(state), "gate_profile": to_document(PROFILE),
        }  # fmt: skip
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ansible-playbook"), str(ROOT / "playbooks" / "gate.yml"), "-e", json.dumps(variables)],
            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        )  # fmt: skip
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stdout[-3000:] + done.stderr[-1000:])
        return wall - busy_s(record), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def faults(folder: Path) -> dict[int, str | None]:
    """Request number -> class of its failure, as the gates' session keeps it; None is a success."""
    found: dict[int, str | None] = {}
    with played(folder, FAULTY, 32768) as (url, _record):
        rows = Lines(folder / "rows.jsonl", {})
        session = Session(
            Client(url), endpoint_adapter("vllm"), "played", "on", Reasoning("on"), rows, lambda *_a, **_k: None
        )
        for number in range(1, REQUESTS + 1):
            try:
                reply = session.chat(
                    "fault", [{"role": "user", "content": "Describe a harbour."}], max_tokens=ANSWER_TOKENS
                )
                found[number] = reply.error_class
            except CampaignError as exc:
                found[number] = str(exc.facts["error_class"])
        rows.close()
    return found


def lane_share(folder: Path) -> tuple[float, float]:
    """(the gates' own time in a seed recipe's whole lane, the lane's time as it would be unshortened)."""
    suite = suite_of(SEEDS[LANE])
    behaviour = (BEHAVIOURS / f"{LANE}.toml").read_text()
    with played(folder, behaviour, suite.context_tokens, SCALE) as (url, record):
        wall, _usage = run_program(folder, suite, url)
        busy = busy_s(record)
    return wall - busy, busy / SCALE + wall - busy


def compare_with_peers(folder: Path, found: Mapping[str, Any], playbook_wall: float) -> None:
    """Ours and the peers' against the same engine, on the same cores; ours with the playbook around it where time is compared."""
    program = peers.aiperf()
    if program is None:
        print("PEERS: aiperf is not installed here (pip install aiperf, or AIPERF=/path/to/aiperf)")
        return
    with played(folder, PACED, 32768) as (url, record):
        told, wall, cpu = peers.run_aiperf(program, folder, url, REQUESTS, PROMPT_TOKENS, ANSWER_TOKENS)
        truth = [line for line in records(record) if line["streamed"]][-len(told) :]
        theirs = {**peers.errors(told, truth), "own": wall - busy_s(record), "cpu": cpu}
    ours = {name: statistics.median(found[name]) for name in ("first_output", "first_visible", "inter_token")}
    peers.side_by_side({**ours, "own": playbook_wall, "cpu": found["cpu"]}, theirs)


def show(what: str, value: float, unit: str, limit: float | None, form: str = ".2f") -> bool:
    """One figure with its bar; whether it is met."""
    met = limit is None or value <= limit
    told = "" if limit is None else f"  (bar {limit:g} {unit}) {'ok' if met else 'MISSED'}"
    print(f"{what:<72} {value:{form}} {unit}{told}", flush=True)
    return met


def spread(values: list[float], scale: float) -> str:
    return f"[{min(values) * scale:.2f}..{max(values) * scale:.2f}]"


def main() -> int:
    if not OTHER_CORES:
        raise SystemExit("two cores are needed: one for the played engine, one for the gates")
    print(
        f"played engine, {REQUESTS} requests at c1 of {PROMPT_TOKENS} tokens, {ANSWER_TOKENS} chunks 5 ms apart, {os.cpu_count()} cores"
    )
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.sched_setaffinity(0, OTHER_CORES)
        found = accuracy(folder / "accuracy")
        os.sched_setaffinity(0, {ENGINE_CORE, *OTHER_CORES})
        for tag, label, scale, unit, limit in (
            ("first_output", "first output, error", 1e3, "ms", 0.6),
            ("first_visible", "first visible, error", 1e3, "ms", 0.6),
            ("inter_token", "inter-token time, error", 1e6, "us", 2.0),
        ):
            text = f"{label}, median {spread(found[tag], scale)}"
            met.append(show(text, statistics.median(found[tag]) * scale, unit, limit))
        show("between the two in truth, median", statistics.median(found["apart"]) * 1e3, "ms", None)
        met.append(show("the gates' program: CPU", found["cpu"], "s", 1.1))
        met.append(show("the gates' program: peak memory", found["memory"], "MiB", 70, ".0f"))
        show("the gates' program: wall less the engine's time", found["own"], "s", None)
        # The first puts this version's program on the host, and counts, too.
        rounds = [playbook(folder / f"playbook-{number}", folder / "state") for number in range(PLAYBOOK_ROUNDS)]
        walls = [wall for wall, _cpu in rounds]
        text = f"gate.yml: wall less the engine's time, median of {PLAYBOOK_ROUNDS} {spread(walls, 1)}"
        met.append(show(text, statistics.median(walls), "s", 1.7))
        show("gate.yml: CPU with Ansible's own, median", statistics.median(cpu for _wall, cpu in rounds), "s", None)
        failed = {number: kind for number, kind in faults(folder / "faults").items() if kind}
        met.append(failed == WANTED_FAULTS)
        verdict = "ok" if met[-1] else f"MISSED, {WANTED_FAULTS} is true"
        print(f"successes of {REQUESTS} with three faults: {REQUESTS - len(failed)} (bar 9), typed {failed} {verdict}")
        if os.environ.get("PEERS"):
            compare_with_peers(folder / "peers", found, statistics.median(walls))
        own, lane = lane_share(folder / "lane")
        met.append(show(f"gates' own time ({own:.1f} s) of a lane of {lane:.0f} s", own / lane * 100, "%", 2.0))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
