# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a startup log says of the cause, by the first known sign in it. Pure.

The earliest sign counts: engines report a consequence last (an integer that can't be read becomes "architectures failed to be inspected").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._words.text import plain


@dataclass(frozen=True)
class Finding:
    """``cause`` is a short name for evidence, ``text`` the sentence for people."""

    cause: str
    text: str

    @property
    def names_the_place(self) -> bool:
        """The image and the device belong to the sentence."""
        return self.cause == "architecture_missing"


#: cause, sign, sentence; groups of the sign stand in the sentence as {0}, {1}…
SIGNS: tuple[tuple[str, str, str], ...] = (
    (
        "arguments_rejected",
        r"unrecognized arguments?: (.+)",
        "The engine rejected these launch arguments: {0} (is a word of the entrypoint repeated, or a flag and its value one string?)",
    ),
    (
        "arguments_rejected",
        r"error: argument (-\S+: (?:invalid choice: [^\s,]+|expected [^\n]+|invalid \S+ value: \S+))",
        "The engine rejected a launch argument: {0}",
    ),
    (
        "port_taken",
        r"address already in use|Errno 98",
        "The port is already in use by something that is not this engine",
    ),
    ("module_missing", r"ModuleNotFoundError: No module named '([^']+)'", "The image lacks the Python module {0}"),
    (
        "device_ids",
        r"invalid literal for int\(\) with base 10: '(GPU-[^']*|MIG-[^']*)'",
        "This engine can't read UUIDs in CUDA_VISIBLE_DEVICES ({0}); it takes container-relative numbers",
    ),
    (
        "architecture_missing",
        r"no kernel image is available for execution on the device",
        "The image has no kernel image for this GPU's architecture",
    ),
    (
        "gpu_not_empty",
        r"Free memory on device \S+ \(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory utilization \([\d.]+, ([\d.]+) GiB\)",
        "The GPU was not empty: {0} GiB of {1} GiB free, {2} GiB wanted; something else still holds memory there",
    ),
    (
        "cache_too_small",
        r"max(?:imum)? (?:model|seq)\w*(?: len\w*)? \((\d+)\)[^\n]*?([\d.]+) GiB KV cache is needed[^\n]*?\(([\d.]+) GiB\)",
        "The context of {0} tokens needs {1} GiB of KV cache, {2} GiB are left beside the weights",
    ),
    (
        "gpu_memory_full",
        r"(?:CUDA out of memory|OutOfMemoryError)[^\n]*?Tried to allocate ([\d.]+ [GMK]iB)",
        "GPU memory ran out while {0} more were asked for",
    ),
    (
        "driver_too_old",
        r"CUDA driver version is insufficient|unsatisfied condition: cuda\s*>=\s*([\d.]+)|forward compatibility was attempted",
        "The host's driver is older than the image's CUDA needs {0}",
    ),
    (
        "no_gpu_visible",
        r"No CUDA GPUs are available|no NVIDIA GPU detected|Failed to infer device type",
        "The engine sees no GPU inside its container",
    ),
    (
        "shared_memory_full",
        r"failed to extend (/dev/shm/\S+)|No space left on device[^\n]*(/dev/shm\S*)|Bus error",
        "Shared memory is full; raise limits.shm_gib or use ipc host",
    ),
    (
        "file_unreadable",
        r"PermissionError: \[Errno 13\] Permission denied: '([^']+)'",
        "The engine may not read {0}",
    ),
    (
        "asked_the_network",
        r"(?:OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled)",
        "The engine asked the network for a file that the snapshot lacks, and it is offline by design",
    ),
    ("wrong_processor", r"exec format error", "The image is for another processor"),
    (
        "entrypoint_missing",
        # Docker's own init says it so; a shell or runc the other way.
        r"exec:? \"?([\w./-]+)\"?(?: failed: No such file|:? .*not found)",
        "The program {0} is not in the image",
    ),
)


def diagnose(log: str) -> Finding | None:
    """None where no known sign is in it."""
    found: list[tuple[int, Finding]] = []
    for cause, sign, sentence in SIGNS:
        if match := re.search(sign, log, re.IGNORECASE):
            values = [plain(value or "", 120) for value in match.groups()]
            found.append((match.start(), Finding(cause, sentence.format(*values, "").rstrip())))
    return min(found, key=lambda item: item[0])[1] if found else None
