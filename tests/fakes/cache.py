"""Small Hugging Face caches: repositories whose blobs are named by their content, as the hub's own client leaves them."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._cache.problem import Problem
from ansible_collections.tandem.campaign.plugins.module_utils._cache.verify import (
    Depth,
    SnapshotReport,
    verify_snapshot,
)
from ansible_collections.tandem.campaign.plugins.module_utils._cache.wanted import Wanted

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


def gguf(values: int = 64, tensors: dict[int, int] | None = None, **metadata: str | int | list[int]) -> bytes:
    """A GGUF file, version 3. ``tensors``: number of a type -> elements, blocks of 32 and 18 bytes but for F32 (0); default one of F32.

    ``metadata``: keys with two underscores for each dot.
    """

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def value(item: str | int | list[int]) -> bytes:
        if isinstance(item, str):
            return struct.pack("<I", 8) + text(item)
        if isinstance(item, list):
            return struct.pack("<IIQ", 9, 4, len(item)) + b"".join(struct.pack("<I", one) for one in item)
        return struct.pack("<II", 4, item)

    pairs = {"general.name": "tiny", **{key.replace("__", "."): item for key, item in metadata.items()}}
    tensors = tensors or {0: values}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    head += b"".join(text(key) + value(item) for key, item in pairs.items())
    offset = 0
    for kind, elements in tensors.items():
        head += text(f"weight{kind}") + struct.pack("<IQIQ", 1, elements, kind, offset)
        offset += elements * 4 if kind == 0 else elements // 32 * 18
    return head + bytes(-len(head) % 32) + bytes(offset)


def safetensors_cache(hub: Path) -> Path:
    """Two shards with their index, a configuration and a tokenizer."""
    blob(hub, "config.json", b'{"architectures": ["Tiny"]}', git=True)
    blob(hub, "tokenizer.json", b'{"version": "1.0"}', git=True)
    blob(hub, "model-00001-of-00002.safetensors", shard({"a": 300, "b": 20}))
    blob(hub, "model-00002-of-00002.safetensors", shard({"c": 512}))
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    index = {"metadata": {"total_size": 832}, "weight_map": {"a": names[0], "b": names[0], "c": names[1]}}
    blob(hub, "model.safetensors.index.json", json.dumps(index).encode(), git=True)
    return hub


def repository(hub: Path) -> Path:
    return hub / "models--example--tiny"


def snapshot(hub: Path, name: str) -> Path:
    return repository(hub) / "snapshots" / REVISION / name


def unlink_all(hub: Path) -> None:
    """As a cache on a disk without links: real files in the snapshot, no blobs."""
    for link in [path for path in snapshot(hub, "").rglob("*") if path.is_symlink()]:
        data = link.read_bytes()
        link.unlink()
        link.write_bytes(data)
    for path in (repository(hub) / "blobs").iterdir():
        path.unlink()


def write_tree(hub: Path, **more: int) -> Path:
    """The hub's listing as its client 2.x keeps it, of what is there now; ``more``: files that aren't, with their sizes."""
    files: dict[str, dict[str, object]] = {}
    for path in snapshot(hub, "").rglob("*"):
        digest, size = path.readlink().name, path.stat().st_size
        name = str(path.relative_to(snapshot(hub, "")))
        pointer = {"size": 130, "blob_id": "0" * 40, "lfs_sha256": digest, "lfs_size": size}
        files[name] = pointer if len(digest) == 64 else {"size": size, "blob_id": digest}
    files |= {name.replace("__", "."): {"size": size, "blob_id": "1" * 40} for name, size in more.items()}
    tree = repository(hub) / "trees" / f"{REVISION}.json"
    tree.parent.mkdir(exist_ok=True)
    tree.write_text(json.dumps({"format_version": 1, "files": files}))
    return tree


def verify(hub: Path, depth: Depth = "hash", **wanted: Any) -> SnapshotReport:
    return verify_snapshot(hub, Wanted(REPO, REVISION, **wanted), depth)


def problem_of(report: SnapshotReport) -> Problem:
    (problem,) = report.problems
    assert report.proof is None
    return problem
