# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text without what identifies a host or its owner: each thing replaced by one name for its role, the same everywhere. Numbers are left alone."""

from __future__ import annotations

import getpass
import re
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ..module_utils._packet.leaks import IDENTIFYING
from ..module_utils._words.secret_forms import SECRETS, Form, without_secrets
from .recipes import COLLECTION

#: Names that say nothing of whose host it is, and would be found in too many places.
GENERIC = frozenset(
    (
        "primary",
        "secondary",
        "localhost",
        "workstation",
        "host",
        "root",
        "user",
        "ubuntu",
        "admin",
        "runner",
        "gpu",
        "demo",
        "test",
    )
)
SHORTEST_NAME = 3
REMEMBERED_CHARACTERS = 200
#: Keys whose values are replaced whatever they look like.
IDENTIFYING_KEYS: Mapping[str, str] = {
    "serial": "<serial>",
    "serial_number": "<serial>",
    "boot": "<boot>",
    "boot_id": "<boot>",
    "machine_id": "<machine>",
}


class Redactor:
    """``known``: literal -> replacement, of this host; longer ones go first. ``counts``: kind -> in how many texts and places it was replaced."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = dict(known)
        self.counts: Counter[str] = Counter()
        words = sorted(self.known, key=len, reverse=True)
        self._told: dict[str, str] = {}
        self._literal = re.compile("|".join(_bounded(word) for word in words)) if words else None

    def secrets(self, value: str) -> str:
        """Without what no packet may hold; the rest as it is."""
        for kind, form in SECRETS.items():
            value = self._replaced(kind, form, value)
        return value

    def text(self, value: str) -> str:
        """Secrets first: a token may hold a name. Short texts come again and again, and are remembered."""
        if len(value) > REMEMBERED_CHARACTERS:
            return self._told_anew(value)
        if value not in self._told:
            self._told[value] = self._told_anew(value)
        return self._told[value]

    def _told_anew(self, value: str) -> str:
        value = self.secrets(value)
        if self._literal:
            value, count = self._literal.subn(lambda match: self.known[match[0]], value)
            self.counts["a known name"] += count
        for kind, form in IDENTIFYING.items():
            value = self._replaced(kind, form, value)
        return value

    def _replaced(self, kind: str, form: Form, value: str) -> str:
        value, count = form.replaced(value)
        self.counts[kind] += count
        return value

    def document(self, value: Any) -> Any:
        """A JSON value with every text and key in it replaced; numbers and structure stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.document(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._item(key, item) for key, item in value.items()}
        return value

    def _item(self, key: str, value: Any) -> Any:
        """A secret by its key has no form of its own: the key goes before it, as it does in a log."""
        if not isinstance(value, str) or not value:
            return self.document(value)
        if key.lower() in IDENTIFYING_KEYS:
            self.counts[f"a {key.lower()}"] += 1
            return IDENTIFYING_KEYS[key.lower()]
        lead = f"{key}: "
        told = self.text(lead + value)
        return told[len(lead) :] if told.startswith(lead) else self.text(value)


def _bounded(word: str) -> str:
    """The word as a whole: a user called ann isn't in channel."""
    before = r"(?<![A-Za-z0-9])" if word[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if word[-1].isalnum() else ""
    return f"{before}{re.escape(word)}{after}"


def scrub(folder: Path) -> list[str]:
    """Replaces secrets in every file below ``folder``, before it becomes evidence: an engine may print what it was given. The files that held one."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        # Byte for byte the same where nothing is found, whatever the encoding.
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        told = without_secrets(text)
        if told != text:
            file.write_bytes(told.encode("utf-8", "surrogateescape"))
            found.append(str(file.relative_to(folder)))
    return found


def known_of(
    host: Mapping[str, Any], facts: Mapping[str, Any], name: str, alias: str, plans: Iterable[Mapping[str, Any]] = ()
) -> dict[str, str]:
    """What is known of this host: its declaration (``reservation.json``), its facts, its name in the inventory, and where its engines lie."""
    roles: Mapping[str, Any] = host.get("gpu_roles") or {}
    known = {str(role["uuid"]): f"<gpu:{role_name}>" for role_name, role in roles.items() if role.get("uuid")}
    for number, gpu in enumerate(facts.get("gpus") or [], start=1):
        if gpu.get("uuid"):
            known.setdefault(str(gpu["uuid"]), f"<gpu:{number}>")
    places = {
        "<state>": host.get("state_dir"), "<cache>": (host.get("cache") or {}).get("path"), "<collection>": str(COLLECTION),
    }  # fmt: skip
    known |= {str(path): role for role, path in places.items() if path and len(PurePosixPath(path).parts) > 1}
    for plan in plans:
        folder = PurePosixPath((plan.get("argv") or ["/"])[0]).parent
        if folder.name == "bin" and len(folder.parts) > 2 and folder.parent != PurePosixPath("/usr"):
            known.setdefault(str(folder.parent), "<engine>")
    taken = {*roles, *(host.get("services") or {}), *GENERIC}
    people = {
        "<user>": (facts.get("user"), getpass.getuser()),
        "<controller>": (socket.gethostname(),),
        alias: (facts.get("hostname"), name),
    }
    for role, names in people.items():
        for word in names:
            if word and len(word) >= SHORTEST_NAME and word not in taken:
                known.setdefault(str(word), role)
    return known
