# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packet on the controller: one folder a campaign and host. Written once; what is superseded moves aside and stays."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils._evidence.store import read_json, write_json
from ..module_utils._packet.folder import MANIFEST, PacketFolder
from ..module_utils._packet.manifest import manifest_document, manifest_problems
from ..module_utils._words.errors import CampaignError, EvidenceError, InputError
from ..module_utils._words.verdict import COMPLETE_OUTCOMES

HOST_FILES = (
    "journal.jsonl",
    "state-before.json",
    "state-after.json",
    "state-diff.json",
    "restored.json",
    "final-state.json",
    "unresolved.json",
    "isolation.jsonl",
    "reservation.json",
)
NOT_EVIDENCE = ("heartbeat", "operation.lock", "operation.json")


@dataclass(frozen=True)
class Packet:
    """``<campaign_dir>/<campaign_id>/<host>/``."""

    folder: Path

    @property
    def verdict(self) -> Path:
        return self.folder / "verdict.json"

    @property
    def timeline(self) -> Path:
        return self.folder / "timeline.jsonl"

    def lane(self, recipe: str) -> Path:
        return self.folder / "lanes" / recipe

    def stored_lane(self, recipe: str, key: str | None) -> dict[str, Any] | None:
        """The verdict of a complete lane of exactly this key whose files are still what the manifest says; else None."""
        file = self.lane(recipe) / "verdict.json"
        if key is None or not file.is_file():
            return None
        try:
            document: dict[str, Any] = read_json(file)
            if document.get("lane_key") != key or document.get("outcome") not in COMPLETE_OUTCOMES:
                return None
            return document if not self.check(f"lanes/{recipe}/") else None
        except EvidenceError:
            return None

    def write_manifest(self, identity: Mapping[str, Any]) -> None:
        """sha256 and size of every file but the manifest itself."""
        write_json(self.folder / MANIFEST, manifest_document(PacketFolder(self.folder), identity))

    def check(self, prefix: str = "") -> list[str]:
        """What doesn't agree with the manifest below ``prefix``: missing, changed, not listed."""
        return sorted(map(str, manifest_problems(PacketFolder(self.folder), prefix)))

    def place_attempts(self, recipe: str, extracted: Path, current: str) -> list[str]:
        """Moves collected attempts in: ``current`` becomes the lane, what was there and every other attempt goes to ``attempts/``."""
        lane = self.lane(recipe)
        placed = []
        for attempt in sorted(path for path in extracted.iterdir() if path.is_dir()):
            if attempt.name == current:
                self.set_aside(recipe)
                lane.mkdir(parents=True, exist_ok=True)
                for item in attempt.iterdir():
                    shutil.move(str(item), lane / item.name)
            else:
                target = _unused(lane / "attempts" / attempt.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(str(attempt), target)
                write_json(target / "attempt.json", interrupted_document(target, attempt.name))
            placed.append(attempt.name)
        return placed

    def set_aside(self, recipe: str) -> None:
        """The lane's present files become a superseded attempt."""
        lane = self.lane(recipe)
        present = [item for item in lane.iterdir() if item.name != "attempts"] if lane.is_dir() else []
        if not present:
            return
        try:
            name = str(read_json(lane / "attempt.json")["attempt"])
        except (EvidenceError, KeyError):
            name = "unnamed"
        target = _unused(lane / "attempts" / name)
        target.mkdir(parents=True)
        for item in present:
            shutil.move(str(item), target / item.name)
        write_json(target / "superseded.json", {"schema": "tandem.superseded/v1", "identity": identity_in(target)})

    def place_host_files(self, extracted: Path, current: str | None) -> None:
        """Reservations' evidence: the ``current`` one at the packet's root, others below ``earlier/``."""
        for folder in sorted(path for path in extracted.iterdir() if path.is_dir()):
            for name in NOT_EVIDENCE:
                (folder / name).unlink(missing_ok=True)
            if folder.name != current:
                shutil.move(str(folder), _unused(self.folder / "earlier" / folder.name))
                continue
            self._set_host_files_aside()
            self.folder.mkdir(parents=True, exist_ok=True)
            for item in folder.iterdir():
                shutil.move(str(item), self.folder / item.name)

    def _set_host_files_aside(self) -> None:
        present = [self.folder / name for name in HOST_FILES if (self.folder / name).exists()]
        if present:
            target = _unused(self.folder / "earlier" / "before")
            target.mkdir(parents=True)
            for item in present:
                shutil.move(str(item), target / item.name)


def packet_folder(directory: str, campaign: str, host: str) -> Path:
    """``campaign_dir/campaign_id/host``; by default below the folder ansible-playbook was called from."""
    base = Path(directory).expanduser() if directory else Path(os.environ.get("PWD") or Path.cwd()) / "campaigns"
    return base.absolute() / campaign / host


def packets_below(folder: Path) -> dict[str, Path]:
    """Host -> packet, of a packet's folder or of a campaign's. Raises :class:`InputError` where neither is there."""
    if (folder / MANIFEST).is_file():
        return {folder.name: folder}
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{MANIFEST}"))}
    if not found:
        raise InputError(
            f"{folder} is no packet and no campaign: name campaigns/<campaign>/<host> or campaigns/<campaign>"
        )
    return found


def history_pattern(campaign: str) -> str:
    """Which folders of the host's history are this campaign's: a stamp, then exactly its name (``my-demo`` is not ``demo``)."""
    return f"????????T??????.???Z-{campaign}"


def interrupted_document(folder: Path, name: str) -> dict[str, Any]:
    """attempt.json of an attempt whose campaign ended before it did."""
    return {
        "schema": "tandem.attempt/v1",
        "identity": identity_in(folder),
        "attempt": name,
        "role": "interrupted",
        "reason": "its campaign ended before it did",
    }


def identity_in(folder: Path) -> dict[str, Any] | None:
    """The identity block of a lane's artifacts: of the live configuration, else of the plan; None where none was written."""
    for name in ("live.json", "plan.json", "recipe.json"):
        if (folder / name).is_file():
            identity: dict[str, Any] | None = read_json(folder / name).get("identity")
            return identity
    return None


def _unused(path: Path) -> Path:
    """The path, or the first free one with a number behind it: evidence is never overwritten."""
    path.parent.mkdir(parents=True, exist_ok=True)
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def extract(archive: Path, target: Path) -> None:
    """Unpacks an archive from a host; its names and links can't leave ``target``."""
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
    except (tarfile.TarError, OSError) as exc:
        raise CampaignError(f"evidence from the host can't be unpacked: {exc}") from exc
