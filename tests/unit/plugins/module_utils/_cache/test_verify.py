"""Every way a snapshot can be broken is found, offline."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.problem import Problem
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import verify_snapshot
from ansible_collections.tandem.campaign.plugins.module_utils._cache.wanted import Wanted
from ansible_collections.tandem.campaign.tests.fakes.cache import (
    REPO,
    REVISION,
    blob,
    problem_of,
    repository,
    snapshot,
    unlink_all,
    verify,
    write_tree,
)

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


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


def test_progress_counts_every_byte(hub: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = verify_snapshot(hub, Wanted(REPO, REVISION), "hash", lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == report.bytes
