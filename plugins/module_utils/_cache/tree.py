# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hub's own listing of a revision, where its client has kept one: every file with its size and content hash.

Format 1 of huggingface_hub 2.x: ``trees/<revision>.json``, ``{format_version, files: {path: {size, blob_id, lfs_sha256, lfs_size}}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .layout import SnapshotFile
from .problem import Problem
from .wanted import Wanted

FORMAT = 1
#: What an engine reads of a safetensors repository, in its first folder. Other formats, pictures and texts may be left out of a snapshot.
SERVED_SUFFIXES = (".safetensors", ".json", ".py", ".jinja", ".model", ".tiktoken", ".txt")


@dataclass(frozen=True)
class Listed:
    """A file as the hub has it: size in bytes, and the digest that its blob is named by."""

    size: int
    algorithm: str
    digest: str


def read_tree(repository: Path, revision: str) -> tuple[dict[str, Listed] | None, str | None]:
    """The listing, or None with the reason where one is there that can't be used."""
    path = repository / "trees" / f"{revision}.json"
    try:
        document = json.loads(path.read_bytes())
        if document["format_version"] != FORMAT:
            return None, f"trees/{path.name} has format {document['format_version']!r}, which is not known"
        return {str(name): _listed(entry) for name, entry in document["files"].items()}, None
    except FileNotFoundError:
        return None, None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        return None, f"trees/{path.name} can't be read ({type(exc).__name__})"


def _listed(entry: Mapping[str, object]) -> Listed:
    if entry.get("lfs_sha256"):
        return Listed(int(str(entry["lfs_size"])), "sha256", str(entry["lfs_sha256"]))
    return Listed(int(str(entry["size"])), "git-sha1", str(entry["blob_id"]))


def compare_tree(
    tree: Mapping[str, Listed], files: Mapping[str, SnapshotFile], broken: set[str], wanted: Wanted
) -> tuple[list[Problem], list[str]]:
    """Files that are missing, too many, of another size, or linked to another blob; and a note of what was left out and isn't served.

    ``broken``: names that are there and have a problem of their own already.
    """
    problems, left_out = [], []
    for name, listed in tree.items():
        file = files.get(name)
        if file is None:
            if name not in broken and is_served(name, wanted):
                problems.append(
                    Problem(name, f"a file of {listed.size} bytes, as the hub lists it", "no such file in the snapshot")
                )
            elif name not in broken:
                left_out.append(name)
        elif file.size != listed.size:
            problems.append(Problem(name, f"{listed.size} bytes, as the hub lists it", f"{file.size} bytes"))
        elif file.expected and file.expected != listed.digest:
            problems.append(
                Problem(name, f"a link to blob {listed.digest}, as the hub lists it", f"a link to blob {file.expected}")
            )
    problems += [
        Problem(name, "only files that the hub lists for this revision", "one more") for name in set(files) - set(tree)
    ]
    text = f"{len(left_out)} files of the revision are not in the snapshot and not served: {', '.join(sorted(left_out)[:4])}"
    return problems, [text] if left_out else []


def is_served(name: str, wanted: Wanted) -> bool:
    """Whether an engine may ask for the file: the one GGUF, or everything a safetensors repository is loaded from."""
    if name in wanted.required_files or name in wanted.sha256 or name == wanted.file:
        return True
    return not wanted.gguf and "/" not in name and name.endswith(SERVED_SUFFIXES)
