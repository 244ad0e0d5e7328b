#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: packet_check
short_description: Check a packet offline
version_added: 0.1.0
description:
  - Refuses a packet in which a file is missing, added or changed against the manifest, a document is of an unknown schema, a lane's documents
    speak of different recipes, weights, builds, contracts, plans or protocols, a hash doesn't follow from what lies there, or a secret stands.
  - Every gate is run once more over the recorded requests and answers, with the protocols in the packet. Checks, quality, capacity figures, the
    lane's outcome and the host's have to come out as they stand there.
  - No host, GPU, engine or network is needed. The same check without Ansible is C(python3 packet_check.pyz PACKET).
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
attributes:
  diff_mode:
    support: none
options:
  packet:
    description: The packet's folder, C(<campaign_dir>/<campaign_id>/<host>).
    type: str
    required: true
  signers:
    description:
      - A file of allowed signers, in the format of C(ssh-keygen -Y verify).
      - Without it a signature that is there has to hold, whoever made it.
    type: str
  signer:
    description: Which of O(signers) has to have signed the manifest.
    type: str
"""

EXAMPLES = r"""
- name: Check what a colleague sent
  tandem.campaign.packet_check:
    packet: /home/me/received/august/primary
    signers: /home/me/.ssh/allowed_signers
    signer: colleague@example.org
"""

RETURN = r"""
ok:
  description: Whether the packet holds.
  returned: always
  type: bool
problems:
  description: What is wrong, each with C(rule), C(path) in the packet and C(text).
  returned: always
  type: list
  elements: dict
files:
  description: How many files are evidence.
  returned: always
  type: int
lanes:
  description: The lanes that were recomputed.
  returned: always
  type: list
  elements: str
signed_by:
  description: The fingerprint of the key that signed the manifest, null where it is not signed.
  returned: always
  type: str
"""
