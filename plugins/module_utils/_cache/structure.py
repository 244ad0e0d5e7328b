# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structure: everything of a snapshot that can be judged without reading the weights themselves. Collects every problem."""

from __future__ import annotations

import gc
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .gguf import GgufError, GgufHeader, read_header
from .index import compare_index
from .layout import SnapshotFile, repo_folder
from .problem import Problem
from .safetensors import SafetensorsError, Shard, read_shard
from .side_files import check_side_files, read_documents
from .tree import Listed, compare_tree, read_tree
from .wanted import Wanted

INDEX = ".safetensors.index.json"
NUMBERED = re.compile(r"(.*)-(\d{5})-of-(\d{5})(\.\w+)")


@dataclass(frozen=True)
class Structure:
    """``notes`` are worth knowing and take nothing from the proof.

    ``tree``: the hub's own listing, empty where there is none. ``documents``: the parsed JSON files. ``shards``: safetensors by name.
    ``headers``: of the recipe's GGUF, or of the parts of a split one.
    """

    problems: tuple[Problem, ...]
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    tree: Mapping[str, Listed]
    documents: Mapping[str, Any]
    shards: Mapping[str, Shard]
    headers: Mapping[str, GgufHeader]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Parsing makes millions of objects and no cycles; the collector would look at them all again and again (a fifth of the time)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_no_collection()
def check_structure(hub: Path, wanted: Wanted, files: list[SnapshotFile], broken: set[str]) -> Structure:
    """``broken``: names that are there and can't be read as files."""
    by_name = {file.name: file for file in files}
    known = set(by_name) | broken
    shards, headers, problems = _weights(files)
    documents, unreadable = read_documents(files)
    problems += unreadable + check_side_files(by_name, known, documents, wanted)
    notes: list[str] = []
    indexes = [name for name in by_name if name.endswith(INDEX)]
    for name in indexes:
        found, texts = compare_index(name, documents.get(name), shards, known) if "/" not in name else ([], [])
        problems += found if name in documents else []
        notes += texts
    problems += _missing_weights(wanted, known, indexes)
    tree, unusable = read_tree(repo_folder(hub, wanted.repo), wanted.revision)
    if tree is not None:
        found, texts = compare_tree(tree, by_name, broken, wanted)
        named = {problem.file for problem in problems}
        problems += [problem for problem in found if problem.file not in named]
        notes += texts
    caveats = (unusable,) if unusable else ()
    served = {name: headers[name] for name in parts_of(wanted.file) if name in headers}
    return Structure(tuple(problems), caveats, tuple(notes), tree or {}, documents, shards, served)


def _weights(files: list[SnapshotFile]) -> tuple[dict[str, Shard], dict[str, GgufHeader], list[Problem]]:
    shards: dict[str, Shard] = {}
    headers: dict[str, GgufHeader] = {}
    problems = []
    for file in files:
        try:
            if file.name.endswith(".gguf"):
                header = read_header(file.path)
                if file.size < header.needed_size:
                    raise GgufError(f"{file.size} bytes, its tensor table needs {header.needed_size}")
                headers[file.name] = header
            elif file.name.endswith(".safetensors"):
                shards[file.name] = read_shard(file.path)
        except OSError as exc:
            problems.append(Problem(file.name, "a readable file", str(exc.strerror)))
        except (GgufError, SafetensorsError) as exc:
            problems.append(Problem(file.name, "a whole weight file", str(exc)))
    return shards, headers, problems


def parts_of(file: str | None) -> list[str]:
    """The weight file itself, or all parts of a split one; none where the recipe names no file."""
    match = NUMBERED.fullmatch(file or "")
    if match:
        return [f"{match[1]}-{number:05d}-of-{match[3]}{match[4]}" for number in range(1, int(match[3]) + 1)]
    return [file] if file else []


def _missing_weights(wanted: Wanted, known: Collection[str], indexes: Collection[str]) -> list[Problem]:
    """The weight file itself, the other parts of a split one, and an index where there are numbered shards."""
    if wanted.file:
        return [
            Problem(name, "the recipe's weight file", "no such file in the snapshot")
            for name in parts_of(wanted.file)
            if name not in known
        ]
    weights = [name for name in known if name.endswith(".safetensors") and "/" not in name]
    if not weights:
        return [Problem("model.safetensors", "weights", "no safetensors file in the snapshot")]
    if not indexes and any(NUMBERED.fullmatch(name) for name in weights):
        return [
            Problem("model.safetensors.index.json", "an index of the numbered shards", "no such file in the snapshot")
        ]
    return []
