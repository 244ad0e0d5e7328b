# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may stand in no packet (keys, tokens, passwords), and what may not stand in a published one (who and where the host is)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .._words.errors import EvidenceError
from .folder import PacketFolder
from .problem import Problem


@dataclass(frozen=True)
class Form:
    """Something that is known by how it is written, and what stands in its place in a published copy. ``group``: which part of the match it is."""

    pattern: re.Pattern[str]
    replacement: str
    group: int = 0


def _form(pattern: str, replacement: str, group: int = 0) -> Form:
    return Form(re.compile(pattern), replacement, group)


#: What a value may not be to count as a secret: already replaced, absent, a number of tokens and the like.
_VALUE = r"(?!<|null\b|None\b|true\b|false\b|\d{1,12}\b)"
#: kind -> its form. Logs are searched as text, whatever bytes are in them.
SECRETS: Mapping[str, Form] = {
    "a Hugging Face token": _form(r"\bhf_[A-Za-z0-9]{20,}", "<hf-token>"),
    "an OpenAI key": _form(r"\bsk-(?:proj-|svcacct-|ant-)?[A-Za-z0-9_-]{20,}", "<api-key>"),
    "a GitHub token": _form(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})", "<github-token>"),
    "an AWS key": _form(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "<aws-key>"),
    "an NGC key": _form(r"\bnvapi-[A-Za-z0-9_-]{20,}", "<ngc-key>"),
    "a Slack token": _form(r"\bxox[abprs]-[A-Za-z0-9-]{10,}", "<slack-token>"),
    "a private key": _form(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:[\s\S]{0,8000}?-----END (?:[A-Z]+ )*PRIVATE KEY-----)?", "<private-key>"),
    "a JSON web token": _form(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", "<token>"),
    "a bearer token": _form(r"(?i)\bbearer[ :]+(?!<)([A-Za-z0-9._~+/=-]{16,})", "<token>", 1),
    "a password in an address": _form(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,100}:([^\s/@\"'<>]{3,200})@", "<password>", 1),
    "a key on a command line": _form(r"(?i)--(?:api-key|hf-token|token|password)(?:=|\s+|[\"'],?\s*[\"']?)" + _VALUE + r"([^\s\"',<]{6,})", "<secret>", 1),
    "a secret variable": _form(
        r"(?i)(?:API_KEY|_TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:\\?[\"'])?\s*[=:]\s*(?:\\?[\"'])?" + _VALUE + r"([^\s\"'\\,}<]{6,})", "<secret>", 1
    ),
}  # fmt: skip
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
#: The address that stands for every private one (RFC 6598, shared address space).
ADDRESS = "100.64.0.10"
#: kind -> form of what tells who and where the host is.
IDENTIFYING: Mapping[str, Form] = {
    "a GPU's UUID": _form(r"\b(?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<gpu>"),
    "a private address": _form(
        rf"(?<![\d.])(?!100\.64\.0\.10(?!\d))(?:10(?:\.{_OCTET}){{3}}|192\.168(?:\.{_OCTET}){{2}}|172\.(?:1[6-9]|2\d|3[01])(?:\.{_OCTET}){{2}}"
        rf"|169\.254(?:\.{_OCTET}){{2}}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.{_OCTET}){{2}})(?![\d.]*\d)",
        ADDRESS,
    ),
    "a private IPv6 address": _form(r"(?i)(?<![0-9a-f:])(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):[0-9a-f:]{2,}(?:%\w+)?", "<address>"),
    "a MAC address": _form(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])", "<mac>"),
    "a mail address": _form(r"\b[A-Za-z0-9._%+-]+@(?!tandem\.campaign\b)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b", "<mail>"),
    "a home folder": _form(r"(?:(?<![\w.>])/(?:mnt/[a-z]/)?(?:home|Users)/[^/\s\"'<>:,;\\]+|(?<![\w./>-])/root(?![\w-]))", "<home>"),
    "a Windows home folder": _form(r"(?i)\b[a-z]:(?:\\{1,4}|/)users(?:\\{1,4}|/)[^\\/\s\"'<>:,;]+", "<home>"),
    "a serial number": _form(r"(?i)\bserial(?:[ _-]?(?:number|no\.?))?(?:\\?[\"'])?\s*[:=]\s*(?:\\?[\"'])?(?!<)([A-Z0-9-]*\d[A-Z0-9-]{5,})", "<serial>", 1),
}  # fmt: skip


def leak_problems(packet: PacketFolder, *, published: bool = False) -> Iterator[Problem]:
    """A secret by its form, in any file, and in a published copy what identifies the host. The text itself isn't repeated."""
    forms = {**SECRETS, **(IDENTIFYING if published else {})}
    for path in packet.evidence:
        try:
            text = packet.data(path).decode("utf-8", "replace")
        except EvidenceError:
            continue
        for kind, form in forms.items():
            found = form.pattern.search(text)
            if found:
                yield Problem("leak", path, f"{kind} in line {text.count(chr(10), 0, found.start()) + 1}")
