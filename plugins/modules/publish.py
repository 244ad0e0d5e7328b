#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: publish
short_description: Sign a packet, make its published copy, check both
version_added: 0.1.0
description:
  - Writes C(published/) into the packet, a copy that is a packet itself. GPU UUIDs, serial numbers, private addresses (as 100.64.0.10), MAC and mail
    addresses, host and user names, home, state and cache folders, tokens, keys and passwords are replaced, each thing by the same name for its role.
  - No number and no structure changes; where one would, or where something that identifies would be left, nothing is published and the task fails.
  - Afterwards packet and copy are checked like M(tandem.campaign.packet_check) does it, and C(packet_check.pyz) is put beside the campaigns.
  - A packet that holds a secret by its form doesn't pass the check, and fails the task.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
attributes:
  diff_mode:
    support: none
options:
  packet:
    description: The packet's folder.
    type: str
    required: true
  alias:
    description: What the host is called in the copy.
    type: str
    default: workstation
  signing_key:
    description:
      - The file of an SSH key on the controller, private, or public where the agent holds the other half. It signs both manifests by C(ssh-keygen -Y sign).
      - A key with a passphrase needs the agent, as nobody is asked.
    type: str
"""

EXAMPLES = r"""
- name: Make a copy for others
  tandem.campaign.publish:
    packet: /home/me/campaigns/august/primary
    signing_key: ~/.ssh/id_ed25519.pub
"""

RETURN = r"""
published:
  description: The copy's folder.
  returned: success
  type: str
"""
