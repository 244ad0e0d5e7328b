"""The snapshot proof against the machine's own SHA-256 rate and against `hf cache verify`: ratios of one interleaved run.

    make bench-snapshot        # the peer is installed into .bench/hf; a cache of 4 GiB is written into $TMPDIR and removed

Prints every figure with its bar and ends with 1 where one is missed. Medians of ROUNDS rounds over a warm cache; not a test.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from ansible_collections.tandem.campaign.plugins.module_utils._cache.receipt import COARSE_NS
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import SnapshotReport, verify_snapshot
from ansible_collections.tandem.campaign.plugins.module_utils._cache.wanted import Wanted
from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import verifier_program
from ansible_collections.tandem.campaign.tests.fakes.cache import (
    REPO,
    REVISION,
    blob,
    repository,
    safetensors_cache,
    snapshot,
    write_tree,
)

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
SHARDS, SHARD_BYTES = 8, 512 * 2**20
TENSORS_A_SHARD = 96
MANY_SHARDS, MANY_TENSORS = 20, 150_000
TWENTY = 20
BLOCK = 2**20
WANTED = Wanted(REPO, REVISION)


@dataclass
class Score:
    """Figures as they come, and how many bars were missed."""

    missed: int = 0
    lines: list[str] = field(default_factory=list)

    def show(
        self, what: str, values: list[float], unit: str, most: float | None = None, least: float | None = None
    ) -> float:
        median = statistics.median(values)
        met = (most is None or median <= most) and (least is None or median >= least)
        self.missed += not met
        verdict = ""
        if most is not None or least is not None:
            sign, bar_value = ("<=", most) if most is not None else (">=", least)
            verdict = f"   bar {sign} {bar_value:g} {unit}   {'met' if met else 'MISSED'}"
        spread = f"[{min(values):.4f}..{max(values):.4f}] n={len(values)}"
        print(f"{what:<70} {median:8.4f} {unit} {spread}{verdict}", flush=True)
        return median


def write_shard(path: Path, tensors: int, size: int, number: int, *, sparse: bool) -> tuple[dict[str, Any], str]:
    """A shard of U8 tensors of equal size: (header, sha256 or nothing for a sparse one)."""
    each = size // tensors
    names = [f"layers.{number}.{index}.weight" for index in range(tensors)]
    header = {
        name: {"dtype": "U8", "shape": [each], "data_offsets": [index * each, (index + 1) * each]}
        for index, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    digest = hashlib.sha256()
    with path.open("wb") as stream:

        def put(data: bytes) -> None:
            stream.write(data)
            digest.update(data)

        put(len(text).to_bytes(8, "little") + text)
        if sparse:
            stream.truncate(8 + len(text) + each * tensors)
            return header, f"{number:064x}"
        left, tile = each * tensors, os.urandom(BLOCK)
        while left:
            put(tile[: min(left, BLOCK)])
            left -= min(left, BLOCK)
    return header, digest.hexdigest()


def synthetic_cache(hub: Path, shards: int, tensors: int, size: int, *, sparse: bool = False) -> Path:
    """A cache as the hub's client leaves it; a sparse one has names that are no hashes of its content, and is good for structure only."""
    blob(hub, "config.json", b'{"architectures": ["Synthetic"]}', git=True)
    blob(hub, "tokenizer.json", b'{"version": "1.0"}', git=True)
    weight_map: dict[str, str] = {}
    for number in range(shards):
        name, temporary = f"model-{number + 1:05d}-of-{shards:05d}.safetensors", hub / "writing"
        header, digest = write_shard(temporary, tensors // shards, size, number, sparse=sparse)
        temporary.rename(repository(hub) / "blobs" / digest)
        snapshot(hub, name).symlink_to(f"../../blobs/{digest}")
        weight_map |= dict.fromkeys(header, name)
    blob(hub, "model.safetensors.index.json", json.dumps({"weight_map": weight_map}).encode(), git=True)
    return hub


def memory_rate(total: int) -> float:
    """Bytes a second of SHA-256 over a buffer that stays in the cache, by all cores at once."""
    cores = os.cpu_count() or 1
    buffer = os.urandom(256 * 1024)

    def work(_number: int) -> None:
        digest = hashlib.sha256()
        for _turn in range(total // cores // len(buffer)):
            digest.update(buffer)

    begun = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, range(cores)))
    return total / (time.perf_counter() - begun)


@contextmanager
def hub_stand_in(hub: Path) -> Iterator[str]:
    """Answers the one call of `hf cache verify`: the tree of the revision."""
    rows = []
    for path in sorted(snapshot(hub, "").rglob("*")):
        digest, size = path.readlink().name, path.stat().st_size
        row: dict[str, Any] = {
            "type": "file",
            "path": path.name,
            "size": size,
            "oid": digest if len(digest) == 40 else "0" * 40,
        }
        rows.append(row | ({"lfs": {"oid": digest, "size": size, "pointerSize": 130}} if len(digest) == 64 else {}))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tree = "/tree/" in self.path
            data = json.dumps(rows if tree else {}).encode()
            self.send_response(200 if tree else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def wall(command: list[str], **environment: str) -> tuple[float, str]:
    begun = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - begun
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[:4])}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return elapsed, done.stdout


def full_passes(score: Score, scratch: Path) -> None:
    """Ours, the peer, the machine's own rate, and ours again with a receipt, in turn."""
    hub = synthetic_cache(scratch / "hub", SHARDS, SHARDS * TENSORS_A_SHARD, SHARD_BYTES)
    program, kept = scratch / "verify.pyz", scratch / "receipt.json"
    program.write_bytes(verifier_program())
    request = {"hub": str(hub), "repo": REPO, "revision": REVISION, "depth": "hash"}
    time.sleep(COARSE_NS / 1e9)
    rates, memory, ours, peer, again = [], [], [], [], []
    with hub_stand_in(hub) as endpoint:
        for _round in range(ROUNDS + 1):
            memory.append(memory_rate(2**31) / 1e9)
            elapsed, output = wall([sys.executable, str(program), json.dumps(request)])
            report = json.loads(output.splitlines()[-1])["report"]
            if report["problems"] or not report["proof"]:
                raise SystemExit(f"ours found {report['texts']}")
            kept.write_text(json.dumps(report["receipt"]))
            ours.append(elapsed)
            rates.append(report["bytes"] / report["seconds"] / 1e9)
            command = [
                str(ROOT / ".bench/hf/bin/hf"),
                "cache",
                "verify",
                REPO,
                "--revision",
                REVISION,
                "--cache-dir",
                str(hub),
            ]
            peer.append(
                wall(
                    [*command, "--fail-on-missing-files", "--fail-on-extra-files"],
                    HF_ENDPOINT=endpoint,
                    HF_HOME=str(scratch / "hf"),
                    HF_HUB_DISABLE_TELEMETRY="1",
                )[0]
            )
            elapsed, output = wall([sys.executable, str(program), json.dumps({**request, "receipt": str(kept)})])
            if json.loads(output.splitlines()[-1])["report"]["reused"] != len(report["files"]):
                raise SystemExit("the receipt vouched for nothing")
            again.append(elapsed)
    rates, memory, ours, peer, again = (values[1:] for values in (rates, memory, ours, peer, again))
    score.show("SHA-256 of a buffer in the cache, all cores", memory, "GB/s")
    score.show("a full pass by content, 4 GiB", rates, "GB/s")
    score.show(
        "throughput / the cores' own rate",
        [rate / limit for rate, limit in zip(rates, memory, strict=True)],
        "x",
        least=0.75,
    )
    score.show("a full pass as a command", ours, "s")
    score.show("hf cache verify", peer, "s")
    score.show("ours / hf cache verify", [one / other for one, other in zip(ours, peer, strict=True)], "x", most=0.60)
    score.show(
        "unchanged, as a command / a full pass",
        [one / other for one, other in zip(again, ours, strict=True)],
        "x",
        most=0.08,
    )


def unchanged_in_process(score: Score, scratch: Path) -> None:
    hub = safetensors_cache(scratch / "small")
    for number in range(TWENTY - 5):
        blob(hub, f"extra-{number}.txt", b"%d" % number)
    time.sleep(COARSE_NS / 1e9)
    receipt = json.loads(json.dumps(verify_snapshot(hub, WANTED, "hash").receipt))

    def once() -> float:
        begun = time.perf_counter()
        report = verify_snapshot(hub, WANTED, "hash", None, receipt)
        elapsed = time.perf_counter() - begun
        if report.reused != TWENTY:
            raise SystemExit(f"{report.reused} of {TWENTY} files were vouched for")
        return elapsed * 1000

    score.show(f"unchanged, in process, {TWENTY} files", [once() for _turn in range(200)], "ms", most=1.0)


def many_tensors(score: Score, scratch: Path) -> None:
    hub = synthetic_cache(scratch / "many", MANY_SHARDS, MANY_TENSORS, 4 * 2**30, sparse=True)

    def once() -> float:
        begun = time.perf_counter()
        report = verify_snapshot(hub, WANTED, "structure")
        elapsed = time.perf_counter() - begun
        if report.problems:
            raise SystemExit(str(report.problems[0]))
        return elapsed

    score.show(
        f"structure of {MANY_TENSORS} tensors in {MANY_SHARDS} shards",
        [once() for _turn in range(ROUNDS)],
        "s",
        most=0.6,
    )


def faults_found(score: Score, scratch: Path) -> None:
    """Each fault in a cache of its own, with every socket refused."""

    def refuse(*_arguments: Any, **_options: Any) -> Any:
        raise SystemExit("the proof asked for the network")

    one, two = (f"model-0000{number}-of-00002.safetensors" for number in (1, 2))

    def rewrite(hub: Path, name: str, change: Callable[[bytes], bytes]) -> None:
        file = snapshot(hub, name).resolve()
        file.write_bytes(change(file.read_bytes()))

    def swap(hub: Path) -> None:
        first, second = snapshot(hub, one).readlink(), snapshot(hub, two).readlink()
        for name, target in ((one, second), (two, first)):
            snapshot(hub, name).unlink()
            snapshot(hub, name).symlink_to(target)

    faults: dict[str, Callable[[Path], object]] = {
        "a flipped byte": lambda hub: rewrite(hub, two, lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        "a cut file": lambda hub: rewrite(hub, two, lambda data: data[:-6]),
        "a missing file": lambda hub: snapshot(hub, two).unlink(),
        "an extra file": lambda hub: (write_tree(hub), blob(hub, "extra.py", b"pass", git=True)),
        "swapped links": swap,
        "bad offsets": lambda hub: rewrite(hub, two, lambda data: data.replace(b"[0, 512]", b"[1, 513]")),
    }
    found: list[SnapshotReport] = []
    with mock.patch("socket.socket", refuse):
        for number, breaks in enumerate(faults.values()):
            hub = safetensors_cache(scratch / f"fault-{number}")
            if verify_snapshot(hub, WANTED, "hash").problems:
                raise SystemExit("a whole cache has problems")
            breaks(hub)
            found.append(verify_snapshot(hub, WANTED, "hash"))
    missed = [name for name, report in zip(faults, found, strict=True) if not report.problems]
    score.missed += len(missed)
    print(f"found without the network: {', '.join(faults)}" if not missed else f"NOT FOUND: {', '.join(missed)}")


def main() -> int:
    score = Score()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        faults_found(score, scratch)
        many_tensors(score, scratch)
        unchanged_in_process(score, scratch)
        full_passes(score, scratch)
    return 1 if score.missed else 0


if __name__ == "__main__":
    sys.exit(main())
