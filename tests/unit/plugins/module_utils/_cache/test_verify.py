"""Every way a snapshot can be broken is found, offline."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import (
    Depth,
    SnapshotReport,
    verify_snapshot,
)

REPO, REVISION = "example/tiny", "a" * 40


def blob(hub: Path, name: str, data: bytes, *, git: bool = False) -> Path:
    """A file of the snapshot, linked to a blob that is named by its content."""
    repository = hub / "models--example--tiny"
    digest = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() if git else hashlib.sha256(data).hexdigest()
    (repository / "blobs").mkdir(parents=True, exist_ok=True)
    (repository / "blobs" / digest).write_bytes(data)
    link = repository / "snapshots" / REVISION / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../../blobs/{digest}")
    return repository / "blobs" / digest


def shard(tensors: dict[str, int]) -> bytes:
    """A safetensors file with U8 tensors of the given sizes."""
    header, offset = {}, 0
    for name, size in tensors.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(range(256)) * (offset // 256) + bytes(offset % 256)


def gguf(values: int = 64) -> bytes:
    """A GGUF file, version 3, with one F32 tensor and one string key."""

    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text(b"general.name") + struct.pack("<I", 8) + text(b"tiny")
    head += text(b"weight") + struct.pack("<IQIQ", 1, values, 0, 0)
    return head + bytes(-len(head) % 32) + bytes(values * 4)


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    blob(tmp_path, "config.json", b"{}", git=True)
    blob(tmp_path, "model-1.safetensors", shard({"a": 300, "b": 20}))
    blob(tmp_path, "model-2.safetensors", shard({"c": 512}))
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"}}
    blob(tmp_path, "model.safetensors.index.json", json.dumps(index).encode(), git=True)
    return tmp_path


def verify(hub: Path, depth: Depth = "hash") -> SnapshotReport:
    return verify_snapshot(hub, REPO, REVISION, depth)


def snapshot(hub: Path, name: str) -> Path:
    return hub / "models--example--tiny" / "snapshots" / REVISION / name


def test_a_whole_snapshot(hub: Path) -> None:
    report = verify(hub)
    assert report.problems == ()
    assert report.proof is not None
    assert report.proof == verify(hub).proof
    assert [name for name, _size, _digest in report.files] == sorted(name for name, _size, _digest in report.files)


def test_refs_do_not_matter(hub: Path) -> None:
    proof = verify(hub).proof
    refs = hub / "models--example--tiny" / "refs"
    refs.mkdir()
    (refs / "main").write_text("b" * 40)
    assert verify(hub).proof == proof


def test_a_flipped_byte_needs_the_hash(hub: Path) -> None:
    file = snapshot(hub, "model-2.safetensors").resolve()
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert verify(hub, "structure").problems == ()
    (problem,) = verify(hub).problems
    assert problem.file == "model-2.safetensors"
    assert problem.expected.startswith("sha256 ")


def test_a_cut_shard(hub: Path) -> None:
    file = snapshot(hub, "model-2.safetensors").resolve()
    file.write_bytes(file.read_bytes()[:-10])
    (problem,) = verify(hub, "structure").problems
    assert "its header says" in problem.found
    assert verify(hub, "structure").proof is None


def test_a_missing_shard(hub: Path) -> None:
    snapshot(hub, "model-2.safetensors").unlink()
    assert [problem.file for problem in verify(hub).problems] == ["model-2.safetensors"]


def test_a_dangling_link(hub: Path) -> None:
    snapshot(hub, "model-1.safetensors").resolve().unlink()
    assert any("dangling link" in problem.found for problem in verify(hub).problems)


def test_swapped_links(hub: Path) -> None:
    one, two = snapshot(hub, "model-1.safetensors"), snapshot(hub, "model-2.safetensors")
    first, second = one.readlink(), two.readlink()
    one.unlink()
    two.unlink()
    one.symlink_to(second)
    two.symlink_to(first)
    assert {problem.file for problem in verify(hub, "structure").problems} == {
        "model-1.safetensors",
        "model-2.safetensors",
    }


def test_a_link_that_leaves_the_cache(hub: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text("x")
    snapshot(hub, "notes.txt").symlink_to(outside)
    assert any("leaves it" in problem.found for problem in verify(hub).problems)


def test_an_unfinished_download(hub: Path) -> None:
    (hub / "models--example--tiny" / "blobs" / "1234.incomplete").write_bytes(b"")
    assert any("unfinished" in problem.expected for problem in verify(hub).problems)


def test_bad_offsets(hub: Path) -> None:
    text = json.dumps({"a": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}).encode()
    blob(hub, "other.safetensors", len(text).to_bytes(8, "little") + text + bytes(6))
    assert any("begins at 2" in problem.found for problem in verify(hub, "structure").problems)


def test_another_revision_is_named(hub: Path) -> None:
    (problem,) = verify_snapshot(hub, REPO, "b" * 40, "hash").problems
    assert REVISION in problem.found


def test_a_file_without_a_hash_name_is_a_caveat(hub: Path) -> None:
    snapshot(hub, "README.md").write_text("hello")
    report = verify(hub)
    assert report.problems == ()
    assert "README.md" in report.caveats[0]


def test_gguf(tmp_path: Path) -> None:
    file = blob(tmp_path, "w.gguf", gguf())
    assert verify(tmp_path).problems == ()
    file.write_bytes(gguf()[:-8])
    (problem,) = verify(tmp_path, "structure").problems
    assert "tensor table needs" in problem.found


def test_a_gguf_that_is_none(tmp_path: Path) -> None:
    blob(tmp_path, "w.gguf", b"GGML" + bytes(100))
    (problem,) = verify(tmp_path, "structure").problems
    assert "magic" in problem.found


def test_progress_counts_every_byte(hub: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = verify_snapshot(hub, REPO, REVISION, "hash", lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == report.bytes
