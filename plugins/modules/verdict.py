#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: verdict
short_description: Decide a lane's or a host's outcome from its evidence
version_added: 0.1.0
description:
  - For a lane, turns the gates' results (or the fault that ended it) into its outcome with caveats.
  - For a host, writes C(verdict.json), manifest and report into the packet, prints the outcome table, and fails by policy.
  - A negative control that was not caught fails whatever the policy.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
options:
  scope:
    description: What is judged.
    type: str
    choices: [lane, host]
    required: true
  lane:
    description: The lane, as RV(tandem.campaign.plan#module:lanes) holds it. Required for V(lane).
    type: dict
  profiles:
    description: What M(tandem.campaign.gate) returned as C(profiles).
    type: list
    elements: dict
    default: []
  fault:
    description: The infrastructure fault that ended the lane, or kept the host from being taken; empty for none.
    type: str
    default: ""
  unproven:
    description: What M(tandem.campaign.engine) returned as C(unproven); a lane that would be qualified is inconclusive with it.
    type: list
    elements: str
    default: []
  plan:
    description: What M(tandem.campaign.plan) returned. Required for V(host).
    type: dict
  restored:
    description: What M(tandem.campaign.packet) returned as C(restore); leave out where no service was touched.
    type: dict
  fail_on:
    description: Lane outcomes that fail the task, and V(unrestored).
    type: list
    elements: str
    default: [rejected, inconclusive, infrastructure, unrestored]
"""

EXAMPLES = r"""
- name: Judge one lane
  tandem.campaign.verdict:
    scope: lane
    lane: "{{ lane }}"
    profiles: "{{ gates.profiles }}"
"""

RETURN = r"""
lane:
  description: The lane's result (C(recipe), C(lane_key), C(outcome), C(reason), C(caveats), C(control), C(profiles)).
  returned: when O(scope=lane)
  type: dict
verdict:
  description: The document that stands in C(verdict.json).
  returned: when O(scope=host)
  type: dict
report:
  description: The report's path on the controller.
  returned: when O(scope=host)
  type: str
"""
