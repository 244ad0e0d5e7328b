# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets by how they are written: no message, log, process list or packet may hold one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: A shorter literal is no key, and would be found in too many places.
SHORTEST_KEY = 6
KEY = "<key>"
#: Options whose value is a secret: --api-key, --control-plane-api-keys, --hf-token; not --max-tokens or --tokenizer.
SECRET_ARGUMENT = re.compile(r"^-.*\b(api[-_]?keys?|token|secret|password)(=|$)", re.IGNORECASE)
#: Variables whose value is one: HF_TOKEN, VLLM_API_KEY; not SGLANG_INIT_NEW_TOKEN_RATIO.
SECRET_NAME = re.compile(r"(^|_)(TOKEN|API_?KEYS?)$|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


@dataclass(frozen=True)
class Form:
    """Something that is known by how it is written, and what stands in its place. ``group``: which part of the match it is.

    ``hints``: lower-case words of which a text has to hold one; looking for them is a hundred times faster than the pattern. None: it is always looked for.
    """

    pattern: re.Pattern[str]
    replacement: str
    group: int = 0
    hints: tuple[str, ...] = ()

    @classmethod
    def of(cls, pattern: str, replacement: str, group: int = 0, hints: tuple[str, ...] = ()) -> Form:
        return cls(re.compile(pattern), replacement, group, hints)

    def may_be_in(self, lowered: str) -> bool:
        """Whether the text, in lower case, is worth a look."""
        return not self.hints or any(hint in lowered for hint in self.hints)

    def replaced(self, text: str) -> tuple[str, int]:
        """(text without it, how often it was there)."""

        def replacement(match: re.Match[str]) -> str:
            start, end = match.span(self.group)
            return match[0][: start - match.start()] + self.replacement + match[0][end - match.start() :]

        return self.pattern.subn(replacement, text)


#: What a value may not be to count as a secret: already replaced, absent, a number of tokens and the like.
_VALUE = r"(?!<|null\b|None\b|true\b|false\b|\d{1,12}\b)"
#: What stands between the name of a variable and its value, in a shell, in JSON, in Python, and in JSON inside of JSON.
_IS = r"(?:\\?[\"'])?\s*[=:]\s*\[?(?:\\?[\"'])?" + _VALUE + r"([^\s\"'\\,}<]{6,})"
#: kind -> its form. Logs are searched as text, whatever bytes are in them.
SECRETS: Mapping[str, Form] = {
    "a Hugging Face token": Form.of(r"\bhf_[A-Za-z0-9]{20,}", "<hf-token>", hints=("hf_",)),
    "an OpenAI key": Form.of(r"\bsk-(?:proj-|svcacct-|ant-)?[A-Za-z0-9_-]{20,}", "<api-key>", hints=("sk-",)),
    "a GitHub token": Form.of(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})", "<github-token>", hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")
    ),
    "an AWS key": Form.of(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "<aws-key>", hints=("akia", "asia")),
    "an NGC key": Form.of(r"\bnvapi-[A-Za-z0-9_-]{20,}", "<ngc-key>", hints=("nvapi-",)),
    "a Slack token": Form.of(r"\bxox[abprs]-[A-Za-z0-9-]{10,}", "<slack-token>", hints=("xox",)),
    "a private key": Form.of(
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:[\s\S]{0,8000}?-----END (?:[A-Z]+ )*PRIVATE KEY-----)?", "<private-key>", hints=("private key-----",)
    ),
    "a JSON web token": Form.of(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", "<token>", hints=(".eyj",)),
    "a bearer token": Form.of(r"(?i)\bbearer[ :]+(?!<)([A-Za-z0-9._~+/=-]{16,})", "<token>", 1, ("bearer",)),
    "a password in an address": Form.of(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,100}:([^\s/@\"'<>]{3,200})@", "<password>", 1, ("://",)),
    "a key on a command line": Form.of(
        r"(?i)--(?:api-key|hf-token|token|password)(?:=|\s+|[\"'],?\s*[\"']?)" + _VALUE + r"([^\s\"',<]{6,})", "<secret>", 1,
        ("--api-key", "--hf-token", "--token", "--password"),
    ),
    "a token variable": Form.of(r"(?i)_TOKEN" + _IS, "<secret>", 1, tuple(f"_token{mark}" for mark in ("=", ":", '"', "'", "\\", " ", "\t", "\n"))),
    "a secret variable": Form.of(
        r"(?i)(?:API_KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)" + _IS, "<secret>", 1, ("api_key", "secret", "password", "passwd", "credential")
    ),
}  # fmt: skip


def without_secrets(text: str, literals: Iterable[str] = ()) -> str:
    """The text with every known form, and every one of ``literals`` that is long enough to be a key, replaced."""
    for literal in literals:
        if len(literal) >= SHORTEST_KEY:
            text = text.replace(literal, KEY)
    lowered = text.lower()
    for form in SECRETS.values():
        if form.may_be_in(lowered):
            text = form.replaced(text)[0]
    return text
