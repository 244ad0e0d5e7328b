# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may stand in no packet (keys, tokens, passwords), and what may not stand in a published one (who and where the host is)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .._words.errors import EvidenceError
from .._words.secret_forms import SECRETS, Form
from .folder import PacketFolder
from .problem import Problem

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
#: The address that stands for every private one (RFC 6598, shared address space).
ADDRESS = "100.64.0.10"
#: kind -> form of what tells who and where the host is.
IDENTIFYING: Mapping[str, Form] = {
    "a GPU's UUID": Form.of(r"\b(?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<gpu>"),
    "a private address": Form.of(
        rf"(?<![\d.])(?!100\.64\.0\.10(?!\d))(?:10(?:\.{_OCTET}){{3}}|192\.168(?:\.{_OCTET}){{2}}|172\.(?:1[6-9]|2\d|3[01])(?:\.{_OCTET}){{2}}"
        rf"|169\.254(?:\.{_OCTET}){{2}}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.{_OCTET}){{2}})(?![\d.]*\d)",
        ADDRESS,
    ),
    "a private IPv6 address": Form.of(r"(?i)(?<![0-9a-f:])(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):[0-9a-f:]{2,}(?:%\w+)?", "<address>"),
    "a MAC address": Form.of(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])", "<mac>"),
    "a mail address": Form.of(r"\b[A-Za-z0-9._%+-]+@(?!tandem\.campaign\b)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b", "<mail>"),
    "a home folder": Form.of(r"(?:(?<![\w.>])/(?:mnt/[a-z]/)?(?:home|Users)/[^/\s\"'<>:,;\\]+|(?<![\w./>-])/root(?![\w-]))", "<home>"),
    "a Windows home folder": Form.of(r"(?i)\b[a-z]:(?:\\{1,4}|/)users(?:\\{1,4}|/)[^\\/\s\"'<>:,;]+", "<home>"),
    "a serial number": Form.of(r"(?i)\bserial(?:[ _-]?(?:number|no\.?))?(?:\\?[\"'])?\s*[:=]\s*(?:\\?[\"'])?(?!<)([A-Z0-9-]*\d[A-Z0-9-]{5,})", "<serial>", 1),
}  # fmt: skip


def leak_problems(packet: PacketFolder, *, published: bool = False) -> Iterator[Problem]:
    """A secret by its form, in any file, and in a published copy what identifies the host. The text itself isn't repeated."""
    forms = {**SECRETS, **(IDENTIFYING if published else {})}
    for path in packet.evidence:
        try:
            text = packet.data(path).decode("utf-8", "replace")
        except EvidenceError:
            continue
        lowered = text.lower()
        for kind, form in forms.items():
            if form.may_be_in(lowered) and (found := form.pattern.search(text)):
                yield Problem("leak", path, f"{kind} in line {text.count(chr(10), 0, found.start()) + 1}")
