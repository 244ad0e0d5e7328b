#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: packet
short_description: Collect evidence from the host into the packet
version_added: 0.1.0
description:
  - Packs a lane's attempts (or, without O(lane), the evidence of reservations that were given back) on the host, fetches the archive, compares
    its sha256 on both sides, unpacks it, and only then removes it from the host.
  - Nothing in the packet is overwritten. What is superseded moves to C(attempts/) or C(earlier/).
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  packet:
    description: The packet's folder on the controller.
    type: str
    required: true
  state_dir:
    description: The state folder on the host.
    type: str
    required: true
  campaign:
    description: The campaign's name.
    type: str
    required: true
  lane:
    description: The lane, as RV(tandem.campaign.plan#module:lanes) holds it.
    type: dict
  verdict:
    description: The lane's result, as RV(tandem.campaign.verdict#module:lane).
    type: dict
  since:
    description: The UTC stamp of this run; a reservation given back since then is this run's.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Collect what the host wrote about its own restore
  tandem.campaign.packet:
    packet: /home/me/campaigns/august/primary
    state_dir: /var/lib/tandem-campaign
    campaign: august
    since: "{{ plan.attempt }}"
"""

RETURN = r"""
collected:
  description: Names of the attempts or reservations that came.
  returned: success
  type: list
  elements: str
restore:
  description: What the restore came to (C(verdict), C(reason), C(diff_count)), read from its evidence.
  returned: when O(lane) is not given
  type: dict
"""
