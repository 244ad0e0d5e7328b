"""Every way a snapshot can be broken is found, offline."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache import hashing
from ansible_collections.tandem.campaign.plugins.module_utils._cache.problem import Problem
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import (
    Depth,
    SnapshotReport,
    verify_snapshot,
)
from ansible_collections.tandem.campaign.plugins.module_utils._cache.wanted import Wanted
from ansible_collections.tandem.campaign.tests.fakes.cache import (
    REPO,
    REVISION,
    blob,
    gguf,
    repository,
    safetensors_cache,
    snapshot,
    unlink_all,
    write_tree,
)

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return safetensors_cache(tmp_path / "hub")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError("the proof asked for the network")

    monkeypatch.setattr("socket.socket", refuse)


def verify(hub: Path, depth: Depth = "hash", **wanted: Any) -> SnapshotReport:
    return verify_snapshot(hub, Wanted(REPO, REVISION, **wanted), depth)


def problem_of(report: SnapshotReport) -> Problem:
    (problem,) = report.problems
    assert report.proof is None
    return problem


def test_a_whole_snapshot(hub: Path) -> None:
    report = verify(hub)
    assert (report.problems, report.caveats, report.notes) == ((), (), ())
    assert report.proof is not None
    assert report.proof == verify(hub).proof
    assert [name for name, _size, _digest in report.files] == sorted(name for name, _size, _digest in report.files)
    assert report.proof != verify(hub, "structure").proof


@pytest.mark.parametrize("ref", [None, "b" * 40, REVISION + "\n"])
def test_refs_do_not_matter(hub: Path, ref: str | None) -> None:
    """Cases C5 and C7: main may point elsewhere, end in a newline, or not be there."""
    proof = verify(hub).proof
    if ref:
        (repository(hub) / "refs").mkdir()
        (repository(hub) / "refs" / "main").write_text(ref)
    assert verify(hub).proof == proof


def test_a_flipped_byte_needs_the_hash(hub: Path) -> None:
    file = snapshot(hub, TWO).resolve()
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert verify(hub, "structure").problems == ()
    problem = problem_of(verify(hub))
    assert (problem.file, problem.expected) == (TWO, f"sha256 {file.name}")
    assert problem.found == f"sha256 {hashlib.sha256(data).hexdigest()}"


def test_a_cut_shard(hub: Path) -> None:
    """Case C3: named with the bytes that its header needs and those that are there."""
    file = snapshot(hub, TWO).resolve()
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:-6])
    problem = problem_of(verify(hub, "structure"))
    assert problem.found == f"a file of {size - 6} bytes, its header says {size}"


def test_a_missing_shard(hub: Path) -> None:
    """Case C1. Nothing in the cache is changed."""
    before = sorted(str(path) for path in hub.rglob("*"))
    snapshot(hub, TWO).unlink()
    problem = problem_of(verify(hub))
    assert problem == Problem(TWO, f"a shard, as {INDEX} lists it", "no such file in the snapshot")
    assert sorted({*(str(path) for path in hub.rglob("*")), str(snapshot(hub, TWO))}) == before


def test_all_problems_at_once_and_sorted(hub: Path) -> None:
    snapshot(hub, TWO).unlink()
    snapshot(hub, "config.json").unlink()
    snapshot(hub, "tokenizer.json").unlink()
    file = snapshot(hub, ONE).resolve()
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    files = [problem.file for problem in verify(hub).problems]
    assert files == ["config.json", ONE, TWO, "tokenizer.json"]


def test_a_side_file_is_never_taken_from_another_snapshot(hub: Path) -> None:
    """Case C10: also not by a link into it."""
    other = repository(hub) / "snapshots" / ("c" * 40)
    other.mkdir()
    (other / "hf_quant_config.json").write_text("{}")
    problem = problem_of(verify(hub, required_files=("hf_quant_config.json",)))
    assert problem == Problem("hf_quant_config.json", "a file that the recipe requires", "no such file in the snapshot")
    snapshot(hub, "hf_quant_config.json").symlink_to(f"../{'c' * 40}/hf_quant_config.json")
    problem = problem_of(verify(hub, required_files=("hf_quant_config.json",)))
    assert problem.expected == "a link to a blob of its own repository"


def test_links(hub: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    snapshot(hub, "notes.txt").symlink_to(tmp_path / "secret")
    snapshot(hub, "folder").symlink_to("../../blobs")
    snapshot(hub, ONE).resolve().unlink()
    found = {problem.file: problem.found for problem in verify(hub).problems}
    assert set(found) == {"notes.txt", "folder", ONE}
    assert "leaves it" in found["notes.txt"]
    assert "a link to the folder models--example--tiny/blobs" in found["folder"]
    assert "a dangling link to ../../blobs/" in found[ONE]


def test_swapped_links(hub: Path) -> None:
    one, two = snapshot(hub, ONE), snapshot(hub, TWO)
    first, second = one.readlink(), two.readlink()
    one.unlink()
    two.unlink()
    one.symlink_to(second)
    two.symlink_to(first)
    assert {problem.file for problem in verify(hub, "structure").problems} == {ONE, TWO}


def test_a_blob_that_repositories_share(hub: Path) -> None:
    """huggingface_hub 2.x: the blob is itself a link into a store, under another hash. The first name counts."""
    own = snapshot(hub, ONE).resolve()
    shared = hub / "blobs" / "ab" / ("ab" * 32)
    shared.parent.mkdir(parents=True)
    own.rename(shared)
    own.symlink_to(f"../../blobs/ab/{shared.name}")
    report = verify(hub)
    assert (report.problems, report.caveats) == ((), ())
    shared.write_bytes(shared.read_bytes()[:-1] + b"!")
    assert problem_of(verify(hub)).file == ONE


def test_a_file_that_cannot_be_read(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case C13."""
    real = os.path.realpath(snapshot(hub, ONE))
    monkeypatch.setattr(os, "access", lambda path, _mode: str(path) != real)
    problem = problem_of(verify(hub))
    assert problem == Problem(ONE, "a readable file", "no permission to read it")


def test_bad_offsets(hub: Path) -> None:
    text = json.dumps({"a": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}).encode()
    blob(hub, "other.safetensors", len(text).to_bytes(8, "little") + text + bytes(6))
    assert "begins at 2" in problem_of(verify(hub, "structure")).found


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"a": {"dtype": "F16", "shape": [3], "data_offsets": [0, 4]}}, "4 bytes for 3 elements of F16"),
        ({"a": {"dtype": "F16", "shape": [2]}}, "lack dtype, shape or data_offsets"),
        ([1, 2], "no JSON object"),
    ],
)
def test_headers_that_contradict_themselves(hub: Path, header: object, says: str) -> None:
    text = json.dumps(header).encode()
    blob(hub, "other.safetensors", len(text).to_bytes(8, "little") + text + bytes(4))
    assert says in problem_of(verify(hub, "structure")).found


def rewrite_index(hub: Path, document: object) -> None:
    snapshot(hub, INDEX).unlink()
    blob(hub, INDEX, json.dumps(document).encode(), git=True)


def test_an_index_and_headers_that_differ(hub: Path) -> None:
    rewrite_index(hub, {"weight_map": {"a": ONE, "c": ONE}})
    texts = [str(problem) for problem in verify(hub, "structure").problems]
    assert texts == [
        f"{ONE}: expected only tensors that {INDEX} maps to it, found tensor b",
        f"{ONE}: expected tensor c, as {INDEX} says, found a header without it",
        f"{TWO}: expected only shards that {INDEX} lists, found one more",
    ]


def test_a_total_size_that_counts_something_else_is_a_note(hub: Path) -> None:
    rewrite_index(hub, {"metadata": {"total_size": 9}, "weight_map": {"a": ONE, "b": ONE, "c": TWO}})
    report = verify(hub)
    assert (report.problems, report.caveats, len(report.notes)) == ((), (), 1)
    assert "total_size 9, the headers say 832" in report.notes[0]


def test_numbered_shards_need_their_index(hub: Path) -> None:
    snapshot(hub, INDEX).unlink()
    assert problem_of(verify(hub)).file == INDEX


def test_json_that_is_cut(hub: Path) -> None:
    snapshot(hub, "config.json").resolve().write_bytes(b'{"architectures": [')
    assert problem_of(verify(hub, "structure")).expected == "JSON"


def test_remote_code_is_followed_and_stays_in_the_snapshot(hub: Path) -> None:
    snapshot(hub, "config.json").unlink()
    auto_map = {"AutoConfig": "configuration_tiny.Config", "AutoModel": "example/other--modeling_other.Model"}
    blob(hub, "config.json", json.dumps({"auto_map": auto_map}).encode(), git=True)
    blob(hub, "configuration_tiny.py", b"from .helpers import x\nfrom . import tables\nimport os\n", git=True)
    found = {problem.file: problem for problem in verify(hub, remote_code=True).problems}
    assert set(found) == {"helpers.py", "tables.py", "config.json"}
    assert found["helpers.py"].expected == "remote code, as configuration_tiny.py imports it"
    assert found["config.json"].found == "code of example/other, at no pinned revision"
    assert {problem.file for problem in verify(hub).problems} == {"helpers.py", "tables.py"}


def test_the_listing_of_the_hub(hub: Path) -> None:
    write_tree(hub, special_tokens_map__json=12, README__md=40)
    problem = problem_of(verify(hub))
    assert problem == Problem(
        "special_tokens_map.json", "a file of 12 bytes, as the hub lists it", "no such file in the snapshot"
    )
    write_tree(hub, README__md=40)
    report = verify(hub)
    assert (report.problems, report.caveats) == ((), ())
    assert report.notes == ("1 files of the revision are not in the snapshot and not served: README.md",)
    blob(hub, "extra.py", b"import os", git=True)
    assert problem_of(verify(hub)) == Problem("extra.py", "only files that the hub lists for this revision", "one more")


def test_the_listing_knows_which_blob_a_name_has(hub: Path) -> None:
    """The links of two side files are swapped: each blob is what its own name says, and in the wrong place."""
    blob(hub, "generation_config.json", b'{"temperature": 1}', git=True)
    write_tree(hub)
    config, tokenizer = snapshot(hub, "generation_config.json"), snapshot(hub, "tokenizer.json")
    first, second = config.readlink(), tokenizer.readlink()
    config.unlink()
    tokenizer.unlink()
    config.symlink_to(second)
    tokenizer.symlink_to(first)
    found = [problem for problem in verify(hub, "structure").problems if problem.file == "tokenizer.json"]
    assert "as the hub lists it" in found[0].expected


@pytest.mark.parametrize(
    "text", ["{", '{"format_version": 7, "files": {}}', '{"format_version": 1, "files": {"a": {}}}', "[]"]
)
def test_a_listing_that_cannot_be_used_is_a_caveat(hub: Path, text: str) -> None:
    write_tree(hub).write_text(text)
    report = verify(hub)
    assert (report.problems, len(report.caveats)) == ((), 1)


def test_a_cache_without_links(hub: Path) -> None:
    """Case C9: a caveat without a manifest, none with one; the hub's own listing is as good."""
    digests = {name: snapshot(hub, name).readlink().name for name in (ONE, TWO)}
    tree = write_tree(hub).read_bytes()
    write_tree(hub).unlink()
    unlink_all(hub)
    report = verify(hub)
    assert report.problems == ()
    assert "content of 5 of 5 files could not be compared" in report.caveats[0]
    assert {name: digest for name, _size, digest in report.files}[ONE] == digests[ONE]
    assert verify(hub, "structure").files[0][2] == "not read"
    assert verify(hub, sha256=digests).caveats == ()
    (repository(hub) / "trees" / f"{REVISION}.json").write_bytes(tree)
    assert verify(hub).caveats == ()
    snapshot(hub, ONE).write_bytes(snapshot(hub, ONE).read_bytes()[:-1] + b"!")
    assert problem_of(verify(hub)).file == ONE


def test_a_manifest_that_differs_from_the_blob(hub: Path) -> None:
    assert problem_of(verify(hub, sha256={ONE: "0" * 64})).expected == f"sha256 {'0' * 64}"


def test_what_is_there_instead_is_named(hub: Path) -> None:
    (problem,) = verify_snapshot(hub, Wanted(REPO, "b" * 40), "hash").problems
    assert REVISION in problem.found
    (problem,) = verify_snapshot(hub, Wanted("example/none", "b" * 40), "hash").problems
    assert "no models--example--none in" in problem.found


class TestWriters:
    def test_a_lock_that_is_held(self, hub: Path) -> None:
        locks = hub / ".locks" / "models--example--tiny"
        locks.mkdir(parents=True)
        with (locks / "etag.lock").open("w") as lock:
            assert verify(hub).problems == ()
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "a download in progress" in problem_of(verify(hub)).found

    def test_a_blob_that_grows(self, hub: Path) -> None:
        (repository(hub) / "blobs" / f"{'9' * 64}.1a2b3c4d.incomplete").write_bytes(b"x")
        assert problem_of(verify(hub)).expected == "no writer"

    def test_an_abandoned_blob_of_this_snapshot_or_of_another(self, hub: Path) -> None:
        own = snapshot(hub, ONE).readlink().name
        for etag in (own, "9" * 64):
            partial = repository(hub) / "blobs" / f"{etag}.incomplete"
            partial.write_bytes(b"x")
            os.utime(partial, (time.time() - 1000,) * 2)
        report = verify(hub)
        assert problem_of(report).file == f"blobs/{own}.incomplete"
        assert [text for text in report.caveats if "999" in text]

    def test_a_file_that_is_written_while_it_is_read(self, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = hashing.content_hashes

        def slow(path: Path, *args: Any) -> Any:
            if path.name == TWO:
                path.resolve().write_bytes(path.read_bytes())
            return real(path, *args)

        monkeypatch.setattr(hashing, "content_hashes", slow)
        assert problem_of(verify(hub)) == Problem(
            TWO, "to stay as it is while it is read", "that somebody writes to it now"
        )


class TestReceipts:
    @pytest.fixture(autouse=True)
    def _old_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """ctime can't be set, so the time after which a stamp is believed is taken away instead."""
        monkeypatch.setattr(
            "ansible_collections.tandem.campaign.plugins.module_utils._cache.receipt.COARSE_NS", -(10**12)
        )

    def again(self, hub: Path, report: SnapshotReport, **wanted: Any) -> tuple[SnapshotReport, int]:
        """The next proof and how many bytes were read for it."""
        read: list[int] = []
        receipt = json.loads(json.dumps(report.receipt))
        done = verify_snapshot(
            hub,
            Wanted(REPO, REVISION, **wanted),
            "hash",
            lambda done, _total: read.append(done),
            receipt,
        )
        return done, (read[-1] if read else 0)

    def test_an_unchanged_snapshot_is_not_read(self, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_tree(hub)
        first = verify(hub)
        monkeypatch.setattr(Path, "open", lambda *_args: pytest.fail("a file was opened"))
        second, read = self.again(hub, first)
        assert (second.proof, second.files, second.reused, read) == (first.proof, first.files, 5, 0)
        assert second.verified_at == first.verified_at

    def test_what_moved_is_read_again_and_nothing_else(self, hub: Path) -> None:
        first = verify(hub)
        file = snapshot(hub, TWO).resolve()
        before = file.stat()
        file.write_bytes(file.read_bytes()[:-1] + b"!")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        second, read = self.again(hub, first)
        assert problem_of(second).file == TWO
        assert (read, second.reused) == (file.stat().st_size, 4)

    def test_another_link_is_another_file(self, hub: Path) -> None:
        first = verify(hub)
        link = snapshot(hub, "tokenizer.json")
        target = link.readlink()
        link.unlink()
        link.symlink_to(snapshot(hub, "config.json").readlink())
        second, _read = self.again(hub, first)
        assert second.proof != first.proof
        link.unlink()
        link.symlink_to(target)
        assert self.again(hub, first)[0].proof == first.proof

    def test_it_vouches_for_nothing_else(self, hub: Path, tmp_path: Path) -> None:
        first = verify(hub)
        assert self.again(hub, first, required_files=("config.json",))[1] == first.bytes
        other = safetensors_cache(tmp_path / "other")
        assert self.again(other, first)[1] == first.bytes
        (repository(hub) / "snapshots" / ("b" * 40)).symlink_to(REVISION)
        seen: list[int] = []
        moved = verify_snapshot(
            hub, Wanted(REPO, "b" * 40), "hash", lambda done, _total: seen.append(done), first.receipt
        )
        assert (seen[-1], moved.reused) == (first.bytes, 0)

    def test_files_that_came_or_went(self, hub: Path) -> None:
        first = verify(hub)
        blob(hub, "generation_config.json", b"{}", git=True)
        more, read = self.again(hub, first)
        assert (len(more.files), read) == (6, 2)
        snapshot(hub, TWO).unlink()
        assert problem_of(self.again(hub, first)[0]).file == TWO

    def test_a_new_listing_of_the_hub_counts(self, hub: Path) -> None:
        first = verify(hub)
        write_tree(hub, special_tokens_map__json=3)
        assert problem_of(self.again(hub, first)[0]).file == "special_tokens_map.json"

    def test_a_writer_stops_it(self, hub: Path) -> None:
        first = verify(hub)
        (repository(hub) / "blobs" / f"{'9' * 64}.incomplete").write_bytes(b"x")
        assert problem_of(self.again(hub, first)[0]).expected == "no writer"

    def test_a_broken_snapshot_gets_none(self, hub: Path) -> None:
        snapshot(hub, "config.json").unlink()
        assert verify(hub).receipt is None


def test_a_file_written_just_now_is_not_vouched_for(hub: Path) -> None:
    first = verify(hub)
    assert first.receipt is not None
    assert first.receipt["files"] == {}
    seen: list[int] = []
    verify_snapshot(hub, Wanted(REPO, REVISION), "hash", lambda done, _total: seen.append(done), first.receipt)
    assert seen[-1] == first.bytes


def test_gguf(tmp_path: Path) -> None:
    file = blob(tmp_path, "w.gguf", gguf())
    assert verify(tmp_path, file="w.gguf").problems == ()
    file.write_bytes(gguf()[:-8])
    assert "tensor table needs" in problem_of(verify(tmp_path, "structure", file="w.gguf")).found


def test_a_gguf_that_is_none(tmp_path: Path) -> None:
    blob(tmp_path, "w.gguf", b"GGML" + bytes(100))
    assert "magic" in problem_of(verify(tmp_path, "structure", file="w.gguf")).found


def test_a_split_gguf_needs_all_its_parts(tmp_path: Path) -> None:
    for number in (1, 3):
        blob(tmp_path, f"w-0000{number}-of-00003.gguf", gguf(64 * number))
    write_tree(tmp_path, other__gguf=7)
    report = verify(tmp_path, file="w-00001-of-00003.gguf")
    assert problem_of(report).file == "w-00002-of-00003.gguf"
    assert "other.gguf" in report.notes[0]


def test_progress_counts_every_byte(hub: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = verify_snapshot(hub, Wanted(REPO, REVISION), "hash", lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == report.bytes
