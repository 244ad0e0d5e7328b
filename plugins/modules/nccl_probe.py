#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_probe
short_description: Prove the transport between the GPUs of a lane before its weights are loaded
version_added: 0.1.0
description:
  - Runs one rank a GPU inside the lane's own image or environment, with the plan's variables, devices and shared memory, and lets them add values
    that are known, so that a lost, doubled or swapped part shows.
  - Judges from NCCL's own lines which transport every pair of ranks has used. V(honoured), V(violated) or V(undetermined) under the contract that the
    launch plan carries; sockets between ranks of one host are a violation everywhere.
  - Compares the devices that the ranks see with the roles, and records the bus bandwidth of an all-reduce.
  - Bounded. A collective that hangs is a verdict, with what each rank was at.
  - It fails unless everything is proven. That is a fault of the host and never a verdict on the model.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.host
  - tandem.campaign.host.evidence
attributes:
  check_mode:
    support: full
    details: In check mode no GPU is touched, so nothing is proven.
  diff_mode:
    support: none
options:
  plan:
    description: The launch plan, as RV(tandem.campaign.plan#module:lanes) holds it.
    type: dict
    required: true
  limit_s:
    description: Seconds after which ranks that haven't ended are killed.
    type: float
    default: 90.0
  signatures:
    description:
      - Signatures of engines' logs beside the collection's own (C(playbooks/diagnosis/signatures.toml)), each with C(id), C(pattern), C(meaning), C(action),
        C(source), and C(kind) V(fault), V(stall) or V(warning). One with the id of ours takes its place.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Prove the transport between the GPUs
  tandem.campaign.nccl_probe:
    plan: "{{ lane.plan }}"
    state_dir: /var/lib/tandem-campaign
    folder: /var/lib/tandem-campaign/campaigns/august/lanes/laguna/20260801T120000.000Z
    identity: "{{ lane.identity }}"
"""

RETURN = r"""
verdict:
  description: V(passed), as everything else fails the task; V(not_run) in check mode.
  returned: success
  type: str
reason:
  description: The transport in words.
  returned: success
  type: str
bus_gb_s:
  description: Bus bandwidth of an all-reduce of 128 MiB in bf16, the slowest rank's median, in GB/s.
  returned: success
  type: float
"""
