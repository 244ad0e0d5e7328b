# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules that speak with a Docker Engine."""

from __future__ import annotations


class ModuleDocFragment:
    """``tandem.campaign.docker``: the engine's socket."""

    DOCUMENTATION = r"""
options:
  docker_socket:
    description: The Docker Engine's socket on the host. API 1.41 or newer; Podman's compatible socket answers the same calls.
    type: path
    default: /var/run/docker.sock
"""
