# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may stand in no packet (keys, tokens, passwords), and what may not stand in a published one (who and where the host is)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._words.errors import EvidenceError
from .folder import PacketFolder
from .problem import Problem

#: kind -> pattern of secrets that are known by their form, wherever they stand. Bytes: logs have any encoding.
SECRETS: dict[str, re.Pattern[bytes]] = {
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z0-9]{20,}"),
    "an OpenAI key": re.compile(rb"\bsk-(?:proj-|svcacct-|ant-)?[A-Za-z0-9_-]{20,}"),
    "a GitHub token": re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    "an AWS key": re.compile(rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "an NGC key": re.compile(rb"\bnvapi-[A-Za-z0-9_-]{20,}"),
    "a Slack token": re.compile(rb"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "a private key": re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "a JSON web token": re.compile(rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "a bearer token": re.compile(rb"(?i)\bbearer[ :]+(?!<)[A-Za-z0-9._~+/=-]{16,}"),
    "a password in an address": re.compile(rb"\b[a-z][a-z0-9+.-]*://[^\s/:@\"']{1,100}:[^\s/@\"'<]{3,200}@"),
    "a key on a command line": re.compile(rb"(?i)--(?:api-key|hf-token|token|password)[= \"',]+(?!<)[^\s\"',<]{6,}"),
    "a secret variable": re.compile(
        rb"(?i)(?:API_KEY|_TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)[\"']?\s*[=:]\s*[\"']?(?!<|null|None|true|false|\d{1,12}\b)[^\s\"',}<]{6,}"
    ),
}  # fmt: skip


def leak_problems(packet: PacketFolder) -> Iterator[Problem]:
    """A secret by its form, in any file; the secret itself isn't repeated."""
    for path in packet.evidence:
        try:
            data = packet.data(path)
        except EvidenceError:
            continue
        for kind, pattern in SECRETS.items():
            found = pattern.search(data)
            if found:
                yield Problem("leak", path, f"{kind} at byte {found.start()}")
