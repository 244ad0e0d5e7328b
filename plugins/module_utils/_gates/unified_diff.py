# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unified diff, applied: what has the right words and does not apply is no diff. Pure."""

from __future__ import annotations

import re

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")
FENCE = re.compile(r"```(?:diff|patch)?\n(.*?)\n?```", re.DOTALL)


class _NoDiff(Exception):
    """Why the text can't be applied."""


def edit_mismatch(answer: str, file: str, before: str, after: str) -> str | None:
    """The whole answer, with or without a fence around it, has to be a unified diff of ``file`` that makes ``after`` of ``before``.

    As ``git apply`` has it: both headers, each hunk with its true counts, and context that stands in the file. None where it holds.
    """
    text = answer.strip()
    fenced = FENCE.fullmatch(text)
    try:
        got = _applied((fenced[1] if fenced else text).split("\n"), file, before.splitlines())
    except _NoDiff as exc:
        return f"the answer is no unified diff that applies: {exc}"
    wanted = after.splitlines()
    if got == wanted:
        return None
    line = next(
        (number for number, pair in enumerate(zip(got, wanted, strict=False)) if pair[0] != pair[1]),
        min(len(got), len(wanted)),
    )
    return f"the diff applies, but line {line + 1} becomes {_line(got, line)}, {_line(wanted, line)} was wanted"


def _applied(lines: list[str], file: str, source: list[str]) -> list[str]:
    for position, mark in enumerate(("---", "+++")):
        header = lines[position] if position < len(lines) else ""
        if header.split("\t")[0] not in (f"{mark} {file}", f"{mark} {'a' if mark == '---' else 'b'}/{file}"):
            raise _NoDiff(f"line {position + 1} is {header[:80]!r}, {mark} and the file's name were wanted")
    result: list[str] = []
    taken, position = 0, 2
    if len(lines) == 2:
        raise _NoDiff("there is no hunk")
    while position < len(lines):
        if lines[position].startswith("\\"):
            position += 1
            continue
        head = HUNK.fullmatch(lines[position])
        if not head:
            raise _NoDiff(f"{lines[position][:80]!r} is no hunk header")
        start, old, new = int(head[1]), int(head[2] or 1), int(head[4] or 1)
        begin = start - 1 if old else start
        if begin < taken:
            raise _NoDiff("hunks overlap")
        result += source[taken:begin]
        taken = begin
        position += 1
        while old or new:
            line = lines[position] if position < len(lines) else None
            if line is None:
                raise _NoDiff(f"the hunk ends {max(old, new)} lines before its header says")
            kind, text = line[:1] or " ", line[1:]
            if kind in (" ", "-"):
                if _line(source, taken) != repr(text):
                    raise _NoDiff(f"line {taken + 1} of the file is {_line(source, taken)}, the diff has {text[:80]!r}")
                taken, old = taken + 1, old - 1
            if kind in (" ", "+"):
                result.append(text)
                new -= 1
            if kind not in (" ", "-", "+") or old < 0 or new < 0:
                raise _NoDiff(f"the hunk's counts don't agree with its lines at {line[:80]!r}")
            position += 1
    return result + source[taken:]


def _line(lines: list[str], number: int) -> str:
    return repr(lines[number]) if number < len(lines) else "no line"
