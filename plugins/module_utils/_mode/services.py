# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hand serves which kind of service."""

from __future__ import annotations

from .._host.docker import Docker
from .._words.host import HostDeclaration
from .service import ServiceHand
from .service_command import CommandService
from .service_container import ContainerService
from .service_process import ProcessService
from .service_systemd import SystemdService


def service_hand(host: HostDeclaration, name: str) -> ServiceHand:
    """The hand of a declared service."""
    service = host.services[name]
    match service.kind:
        case "container":
            return ContainerService(name, service, Docker(host.docker_socket))
        case "systemd":
            return SystemdService(name, service)
        case "command":
            return CommandService(name, service)
        case "process":
            return ProcessService(name, service)
