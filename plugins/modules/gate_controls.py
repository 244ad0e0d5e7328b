#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gate_controls
short_description: Show on the host that every check of the gates can fail
version_added: 0.1.0
description:
  - Runs every check, task and timing of the lanes' protocols against a built-in server on loopback that is bad in several ways. Each has to fail where it
    should, has to be V(inconclusive) where it inspected nothing, and must not take a fault of the server for a verdict.
  - Writes C(controls.json) into the packet. Fails where one control was not caught, as then the gates can't be trusted on this host.
  - No engine is needed and none is asked.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
attributes:
  check_mode:
    support: full
    details: In check mode nothing is run.
  diff_mode:
    support: none
options:
  lanes:
    description: Lanes, of which C(protocols) is read.
    type: list
    elements: dict
    required: true
  state_dir:
    description: The state folder on the host.
    type: path
    required: true
  packet:
    description: The packet's folder on the controller.
    type: path
    required: true
  identity:
    description: The identity block for the evidence.
    type: dict
    required: true
  timeline:
    description: A file on the controller for the progress lines.
    type: path
"""

EXAMPLES = r"""
- name: Show that the gates can fail
  tandem.campaign.gate_controls:
    lanes: "{{ campaign.lanes }}"
    state_dir: "{{ campaign.host.state_dir }}"
    packet: "{{ campaign.packet }}"
    identity: "{{ campaign.identity }}"
"""

RETURN = r"""
verdict:
  description: V(passed), or the task has failed.
  returned: success
  type: str
reason:
  description: How many controls were caught.
  returned: success
  type: str
controls:
  description: One row a control (C(protocol), C(check), C(way), C(expected), C(got), C(reason), C(met)).
  returned: success
  type: list
  elements: dict
"""
