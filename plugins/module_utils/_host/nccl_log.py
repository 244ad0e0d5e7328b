# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges which transport NCCL has really used, from its own lines. Pure.

An echoed setting proves nothing: NCCL echoes it when it is first read, only in one subsystem, and never when it isn't set. What proves a
transport are the lines ``Channel … via …``, and since 2.22 they come with the first collective, after ``Init COMPLETE``. Hence three verdicts.
Line shapes: NCCL 2.18 to 2.30, src/transport/{p2p,shm,net}.cc, src/transport.cc, src/init.cc, src/misc/param.cc, src/debug.cc.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .._words.text import plain

Transport = Literal["honoured", "violated", "undetermined"]

#: Engines, Docker and other ranks write into the same lines: a record is found by its own prefix, wherever that stands.
RECORD = re.compile(r"[\w.-]+:(\d+):\d+ \[-?\w+\] (?:\S+:\d+ (?:\([\w:~<>]+\) )?)?NCCL (INFO|WARN) ?")
ECHO = re.compile(r"(NCCL_\w+) set by environment to (\S+?)\.?(?:\s|$)")
INVALID = re.compile(r"Invalid value (\S+) for (NCCL_\w+)")
VERSION = re.compile(r"NCCL version (\d+\.\d+\.\d+)")
INIT = re.compile(
    r"ncclCommInit\w* comm (0x[0-9a-f]+) rank (\d+) nranks (\d+) .*?(?:commId (0x[0-9a-f]+))?(?: - Init (START|COMPLETE))"
)
CHANNEL = re.compile(
    r"Channel \d+(?:/\d+)? : (\d+)\[[0-9a-f]+\] -> (\d+)\[[0-9a-f]+\] (?:\[(?:send|receive)\] )?via ([A-Z0-9]+)/?(\S*)"
)
DIRECT = re.compile(r"Check P2P Type (?:isAllDirectP2p|intraNodeP2pSupport) (\d)")
NVLS_USED = re.compile(r"Connected NVLS tree|via NVLS")
#: Lines after which a communicator is of no use, and what each of them means.
FAILURES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Cuda failure (?:\d+ )?'[^']*'"), "a CUDA call failed"),
    (re.compile(r"ncclCuMemMapAndSetAccess"), "the cuMem mapping failed"),
    (re.compile(r"failed to extend /dev/shm/\S+ to \d+ bytes|Error while creating shared memory segment \S+"), "/dev/shm is too small"),
    (re.compile(r"No transport found for rank[^\n]*"), "no transport is left"),
    (re.compile(r"Could not enable P2P between dev[^\n]*"), "peer access failed"),
    (re.compile(r"Legacy IPC not supported[^\n]*"), "CUDA IPC is not supported here"),
)  # fmt: skip
SHOWN = 6
#: Read before NCCL can write anything.
UNECHOED = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS")


@dataclass(frozen=True)
class Communicator:
    """``ranks``: those that were seen to complete; ``pairs``: (from, to, transport) as its channels say."""

    id: str
    size: int
    ranks: tuple[int, ...]
    pairs: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class Judgement:
    """``echoes``: variable -> values that NCCL said it took; ``unseen``: wanted variables without an echo, which says nothing against them.

    ``transports``: P2P, SHM or NET with their counts of channels.
    """

    verdict: Transport
    reasons: tuple[str, ...]
    version: str | None
    communicators: tuple[Communicator, ...]
    transports: Mapping[str, int]
    echoes: Mapping[str, tuple[str, ...]]
    unseen: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Record:
    process: str
    level: str
    text: str


def judge(log: str, wanted: Mapping[str, str], ranks: int) -> Judgement:
    """``wanted``: the environment that the load was given, of which only NCCL's variables count; ``ranks``: how many GPUs take part."""
    records = list(_records(log))
    echoes = _echoes(records)
    communicators = _communicators(records)
    transports = Counter(channel[3] for record in records for channel in CHANNEL.finditer(record.text))
    warnings = tuple(dict.fromkeys(plain(record.text, 240) for record in records if record.level == "WARN"))
    violations = [
        *_failures(log),
        *_wrong_echoes(echoes, wanted, records),
        *_wrong_transports(transports, wanted, records),
    ]
    missing = _missing(communicators, ranks, bool(transports))
    verdict: Transport = "violated" if violations else "undetermined" if missing else "honoured"
    reasons = violations or missing or [f"every rank pair goes via {'/'.join(sorted(transports))}"]
    version = next(iter(VERSION.findall(log)), None)
    unseen = tuple(name for name in wanted if name.startswith("NCCL_") and name not in (*echoes, *UNECHOED))
    return Judgement(
        verdict, tuple(reasons), version, communicators, dict(transports), echoes, unseen, warnings[:SHOWN]
    )


def _records(log: str) -> Iterator[_Record]:
    """Every record from its prefix to the next one or the line's end; a record torn in two by another rank loses its end and nothing else."""
    for line in log.splitlines():
        found = list(RECORD.finditer(line))
        for index, match in enumerate(found):
            stop = found[index + 1].start() if index + 1 < len(found) else len(line)
            yield _Record(match[1], match[2], line[match.end() : stop].strip())


def _echoes(records: list[_Record]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for match in ECHO.finditer(record.text):
            found.setdefault(match[1], {})[match[2]] = None
    return {name: tuple(values) for name, values in sorted(found.items())}


def _communicators(records: list[_Record]) -> tuple[Communicator, ...]:
    """Channel lines name no communicator: they belong to the one that their process has initialised last."""
    sizes: dict[str, int] = {}
    complete: dict[str, set[int]] = {}
    pairs: dict[str, dict[tuple[int, int, str], None]] = {}
    pointers: dict[tuple[str, str], str] = {}
    current: dict[str, str] = {}
    for record in records:
        if (match := INIT.search(record.text)) is not None:
            # Older versions name the communicator's id at its start only, the pointer in both.
            identifier = match[4] or pointers.get((record.process, match[1])) or match[1]
            pointers[(record.process, match[1])] = current[record.process] = identifier
            sizes[identifier] = int(match[3])
            if match[5] == "COMPLETE":
                complete.setdefault(identifier, set()).add(int(match[2]))
        for channel in CHANNEL.finditer(record.text):
            identifier = current.get(record.process, "unknown")
            pairs.setdefault(identifier, {})[
                (int(channel[1]), int(channel[2]), f"{channel[3]}/{channel[4]}".rstrip("/"))
            ] = None
    return tuple(
        Communicator(
            name, sizes.get(name, 0), tuple(sorted(complete.get(name, ()))), tuple(sorted(pairs.get(name, {})))
        )
        for name in dict.fromkeys([*sizes, *pairs])
    )


def _failures(log: str) -> list[str]:
    """Searched in the whole text: a backtrace has no prefix."""
    found = []
    for pattern, meaning in FAILURES:
        if (match := pattern.search(log)) is not None:
            found.append(f"{meaning}: {plain(match[0], 160)}")
    return found


def _wrong_echoes(
    echoes: Mapping[str, tuple[str, ...]], wanted: Mapping[str, str], records: list[_Record]
) -> list[str]:
    wrong = [
        f"{name} was taken as {value}, the contract says {wanted[name]}"
        for name, values in echoes.items()
        if name in wanted and name not in UNECHOED
        for value in values
        if value != wanted[name]
    ]
    return (
        wrong
        + [
            f"{match[2]}={match[1]} was not understood" for record in records for match in INVALID.finditer(record.text)
        ][:SHOWN]
    )


def _wrong_transports(transports: Mapping[str, int], wanted: Mapping[str, str], records: list[_Record]) -> list[str]:
    wrong = []
    if wanted.get("NCCL_P2P_DISABLE") == "1":
        if transports.get("P2P"):
            wrong.append(f"{transports['P2P']} channels go via P2P, which the contract turns off")
        # With sockets only, NCCL prints 1 although nothing is direct (2.28.9, seen).
        if not transports.get("NET") and any(
            (match := DIRECT.search(record.text)) and match[1] == "1" for record in records
        ):
            wrong.append("NCCL found direct peer access usable, which the contract turns off")
    if wanted.get("NCCL_NVLS_ENABLE") == "0" and any(NVLS_USED.search(record.text) for record in records):
        wrong.append("NVLS is in use, which the contract turns off")
    if transports.get("NET"):
        wrong.append(
            f"degraded: {transports['NET']} channels of ranks on one host go via NET (sockets), shared memory is not used"
        )
    return wrong


def _missing(communicators: tuple[Communicator, ...], ranks: int, any_channel: bool) -> list[str]:
    """Why the log proves nothing yet."""
    if not any_channel:
        return [
            "the log has no line 'Channel … via …': no collective has run yet, or NCCL_DEBUG is not INFO, or its subsystem INIT is left out, or the log was cut"
        ]
    # A communicator that nobody has used yet shows no channels, and takes nothing from the others.
    used = [item for item in communicators if item.pairs]
    whole = [item for item in used if {sender for sender, _to, _via in item.pairs} == set(range(ranks))]
    texts = []
    for item in used:
        senders = {sender for sender, _to, _via in item.pairs}
        silent = sorted(set(range(item.size or ranks)) - senders)
        if silent:
            texts.append(f"communicator {item.id}: no channel of rank {', '.join(map(str, silent))} is in the log")
    if not whole and not texts:
        texts.append(f"no communicator of {ranks} ranks is in the log")
    return texts
