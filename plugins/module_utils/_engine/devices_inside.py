# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The devices as the engine's container sees them. A device request says what was asked for; under WSL2 more may be given."""

from __future__ import annotations

import re
from typing import Any

from .._host.docker import Docker
from .._host.docker_containers import run_inside
from .._words.plan import LaunchPlan
from .comparison import Comparison, compared

#: Each names the devices by UUID, the first that can be run decides: the driver's tool, under WSL2 at its own place, and the kernel's list.
COMMANDS = (
    ["nvidia-smi", "-L"],
    ["/usr/lib/wsl/lib/nvidia-smi", "-L"],
    ["sh", "-c", "cat /proc/driver/nvidia/gpus/*/information"],
)
UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def compare_devices(docker: Docker, container: str, plan: LaunchPlan) -> tuple[dict[str, Any], list[Comparison]]:
    """What was seen and by which command; no rows for a plan without GPUs."""
    planned = sorted(device for device in plan.roles.values() if device != "cpu")
    if not planned:
        return {"uuids": [], "by": None}, []
    tried = {}
    for command in COMMANDS:
        status, output = run_inside(docker, container, command)
        found = sorted(set(UUID.findall(output)))
        if status == 0 and found:
            return {"uuids": found, "by": command}, [compared("devices inside", planned, found)]
        tried[" ".join(command)] = output[:300]
    return {"uuids": None, "by": None, "tried": tried}, [compared("devices inside", planned, None)]
