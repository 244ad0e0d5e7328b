# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an engine reads beside the weights: configuration, tokenizer and remote code, in this very snapshot. Pure but for reading files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .layout import SnapshotFile
from .problem import Problem
from .wanted import Wanted

#: One of them has to be there; the last two are suffixes.
TOKENIZERS = (
    "tokenizer.json", "tokenizer.model", "tiktoken.model", "tekken.json", "vocab.json", "vocab.txt", "spiece.model", ".tiktoken", ".spm",
)  # fmt: skip
#: Nemotron's configuration alone has 7.4 MB, its index 16.6.
JSON_LIMIT = 256 * 2**20
RELATIVE_IMPORT = re.compile(
    rb"^\s*from\s+\.([A-Za-z_]\w*)\s+import\b|^\s*from\s+\.\s+import\s+([A-Za-z_]\w*)", re.MULTILINE
)


def read_documents(files: list[SnapshotFile]) -> tuple[dict[str, Any], list[Problem]]:
    """Every JSON file of the snapshot's first folder, parsed. One that is cut is found in this depth already."""
    documents, problems = {}, []
    for file in files:
        if "/" in file.name or not file.name.endswith(".json"):
            continue
        if file.size > JSON_LIMIT:
            problems.append(Problem(file.name, f"at most {JSON_LIMIT} bytes of JSON", f"{file.size} bytes"))
            continue
        try:
            documents[file.name] = json.loads(file.path.read_bytes())
        except OSError as exc:
            problems.append(Problem(file.name, "a readable file", str(exc.strerror)))
        except (ValueError, RecursionError):
            problems.append(Problem(file.name, "JSON", f"{file.size} bytes that are none"))
    return documents, problems


def check_side_files(
    files: Mapping[str, SnapshotFile], known: set[str], documents: Mapping[str, Any], wanted: Wanted
) -> list[Problem]:
    """``known``: all names that are there, also those that have a problem of their own. A GGUF carries its configuration itself."""
    needed = dict.fromkeys((*wanted.required_files, *wanted.sha256), "a file that the recipe requires")
    if not wanted.gguf:
        needed["config.json"] = "the model's configuration"
        needed |= dict(_remote_code(files, documents))
    problems = [
        Problem(name, reason, "no such file in the snapshot") for name, reason in needed.items() if name not in known
    ]
    if not wanted.gguf and not any(name.endswith(TOKENIZERS) for name in known if "/" not in name):
        problems.append(Problem("tokenizer.json", "a tokenizer of some form", "no such file in the snapshot"))
    if wanted.remote_code:
        problems += [
            Problem(
                name, "remote code of this snapshot", f"code of {reference.partition('--')[0]}, at no pinned revision"
            )
            for name, reference in _references(documents)
            if "--" in reference
        ]
    return problems


def _references(documents: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(file, ``module.Class`` or ``repo--module.Class``) of each ``auto_map``."""
    for name in ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json"):
        document = documents.get(name)
        auto_map = document.get("auto_map") if isinstance(document, dict) else None
        for value in auto_map.values() if isinstance(auto_map, dict) else []:
            yield from (
                (name, item) for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)
            )


def _remote_code(files: Mapping[str, SnapshotFile], documents: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(Python file, who needs it), followed through relative imports."""
    waiting = [
        (f"{item.rpartition('.')[0]}.py", f"remote code, as {name} names it")
        for name, item in _references(documents)
        if "--" not in item
    ]
    done: set[str] = set()
    while waiting:
        name, reason = waiting.pop()
        if name in done or not re.fullmatch(r"[\w.]+\.py", name):
            continue
        done.add(name)
        yield name, reason
        if name in files:
            waiting += [(f"{module}.py", f"remote code, as {name} imports it") for module in _imports(files[name].path)]


def _imports(path: Path) -> list[str]:
    found = RELATIVE_IMPORT.findall(path.read_bytes()[:JSON_LIMIT])
    return [(one or other).decode() for one, other in found]
