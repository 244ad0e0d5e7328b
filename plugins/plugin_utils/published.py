# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of a packet for others: what identifies is replaced, every number is as it was, and the copy is a packet that can be checked."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json
from ..module_utils._packet.folder import MANIFEST, SIGNATURE, PacketFolder
from ..module_utils._packet.leaks import leak_problems
from ..module_utils._packet.manifest import manifest_document, published_part
from ..module_utils._packet.outcomes import content_of
from ..module_utils._words.errors import CampaignError
from .redaction import Redactor, known_of

FOLDER = "published"


def is_current(packet: Path, *, signed: bool) -> bool:
    """Whether the copy was made from the manifest that lies there, and both are signed where they have to be."""
    copy, manifest = packet / FOLDER, packet / MANIFEST
    if not manifest.is_file():
        return False
    made_of = (published_part(PacketFolder(copy)) or {}).get("of") if copy.is_dir() else None
    has_signatures = all((folder / SIGNATURE).is_file() for folder in (packet, copy))
    return made_of == hashlib.sha256(manifest.read_bytes()).hexdigest() and (has_signatures or not signed)


def publish(packet: Path, alias: str) -> dict[str, Any]:
    """Makes ``published/`` anew. ``alias``: what the host is called there. What was replaced, in numbers.

    Raises :class:`CampaignError` where a number or the structure of a document would change, or something that identifies is left.
    """
    source = PacketFolder(packet)
    redactor = Redactor(_known(source, alias))
    with tempfile.TemporaryDirectory(dir=packet, prefix=".published.") as scratch:
        copy = Path(scratch) / FOLDER
        changed = [path for path in source.evidence if _copied(source, path, copy, redactor)]
        _refer_anew(copy)
        target = PacketFolder(copy)
        _nothing_left(target, redactor)
        manifest = manifest_document(target, redactor.document(read_json(packet / MANIFEST)["identity"]))
        manifest["published"] = {
            "of": hashlib.sha256((packet / MANIFEST).read_bytes()).hexdigest(),
            "redacted": changed,
        }
        _write(copy / MANIFEST, _json(manifest))
        shutil.rmtree(packet / FOLDER, ignore_errors=True)
        copy.rename(packet / FOLDER)
    return {"files": len(source.evidence), "changed": len(changed), "replaced": sum(redactor.counts.values())}


def _known(source: PacketFolder, alias: str) -> dict[str, str]:
    host = (source.optional("reservation.json") or {}).get("host") or {}
    facts = (source.optional("host.json") or {}).get("facts") or {}
    name = source.document("verdict.json")["host"]
    plans = [source.document(path).get("plan") or {} for path in source.names("lanes/", "/plan.json")]
    return known_of(host, facts, str(name), alias, plans)


def _copied(source: PacketFolder, path: str, copy: Path, redactor: Redactor) -> bool:
    """Whether the file's copy differs from it in content; the identity block's own host doesn't count."""
    if path.endswith(".json"):
        document = source.document(path)
        told = redactor.document(document)
        same_numbers(path, document, told)
        _write(copy / path, _json(told))
        return content_of(told) != content_of(document)
    text = source.data(path).decode("utf-8", "replace")
    told_text = "".join(_lines(path, text, redactor)) if path.endswith(".jsonl") else redactor.text(text)
    _write(copy / path, told_text)
    return told_text != text


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _write(file: Path, text: str) -> None:
    """Not synced: the copy can be made again, and appears as a whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")


def _lines(path: str, text: str, redactor: Redactor) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if not line.strip():
            yield line
            continue
        document = json.loads(line)
        told = redactor.document(document)
        same_numbers(path, document, told)
        yield line if told == document else json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n"


def same_numbers(path: str, before: Any, after: Any) -> None:
    """Every number and the whole structure are as they were."""
    if isinstance(before, dict) and isinstance(after, dict) and len(before) == len(after):
        for one, other in zip(before.values(), after.values(), strict=True):
            same_numbers(path, one, other)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            same_numbers(path, one, other)
    elif type(before) is not type(after) or (not isinstance(before, str) and before != after):
        raise CampaignError(f"{path}: {before!r} would become {after!r} in the published copy; nothing was published")


def _refer_anew(copy: Path) -> None:
    """References by hash, from one document to another whose content may have changed."""
    for file in copy.glob("lanes/*/quality.json"):
        document = read_json(file)
        for profile in document["profiles"]:
            reference: Mapping[str, str] | None = profile.get("control")
            if reference:
                profile["control"] = {
                    **reference,
                    "sha256": hashlib.sha256((copy / reference["path"]).read_bytes()).hexdigest(),
                }
        _write(file, _json(document))


def _nothing_left(copy: PacketFolder, redactor: Redactor) -> None:
    """The copy, searched for everything that was to be replaced."""
    found = [str(problem) for problem in leak_problems(copy, published=True)]
    for path in copy.evidence:
        text = copy.data(path).decode("utf-8", "replace")
        found += [
            f"{path}: a name that stands for {role}"
            for word, role in redactor.known.items()
            if redactor_finds(word, text)
        ]
    if found:
        raise CampaignError(
            f"the published copy would still hold {len(found)} things that identify: {'; '.join(found[:3])}; nothing was published"
        )


def redactor_finds(word: str, text: str) -> bool:
    """Whether the word stands in the text as a whole."""
    return word in text and Redactor({word: ""}).text(text) != text
