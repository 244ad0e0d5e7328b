#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: engine
short_description: Load or unload the pinned engine of a lane
version_added: 0.1.0
description:
  - V(loaded) starts exactly the launch plan, fails at once with the last log lines when the engine ends, gives up at the plan's limit, is ready
    only when health answers, the served name is listed and one real completion came back, and then compares the live configuration with the plan.
  - V(unloaded) stops it within its limit and proves that it is gone.
  - The docker runtime creates exactly the plan's container from an image that is already there, with GPUs by UUID, a read-only cache, loopback only,
    no restart policy and no new privileges; it is owned by its label, never by its name.
  - The engine is started by the keeper that O(state_dir)'s reservation has; see M(tandem.campaign.gpu_mode). An engine of the same plan that runs already
    is read back and left as it is.
  - No module is packed and sent; the keeper's program, which lies on the host already, does it.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.host
  - tandem.campaign.host.evidence
attributes:
  check_mode:
    support: full
    details: In check mode nothing is started; the plan is returned as it would be started.
  diff_mode:
    support: full
options:
  state:
    description: What the engine shall be.
    type: str
    choices: [loaded, unloaded]
    required: true
  plan:
    description: The launch plan, as RV(tandem.campaign.plan#module:lanes) holds it.
    type: dict
    required: true
  signatures:
    description:
      - Signatures of engines' logs beside the collection's own (C(playbooks/diagnosis/signatures.toml)), each with C(id), C(pattern), C(meaning), C(action),
        C(source), and C(kind) V(fault), V(stall) or V(warning). One with the id of ours takes its place.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Load the engine
  tandem.campaign.engine:
    state: loaded
    plan: "{{ lane.plan }}"
    state_dir: /var/lib/tandem-campaign
    folder: /var/lib/tandem-campaign/campaigns/august/lanes/laguna/20260801T120000.000Z
    identity: "{{ lane.identity }}"
"""

RETURN = r"""
identity:
  description: The identity block with what the engine reported of itself.
  returned: when O(state=loaded)
  type: dict
ready_s:
  description: Seconds from the start to readiness.
  returned: when O(state=loaded)
  type: float
unproven:
  description: Settings of the plan that the engine does not tell, as sentences.
  returned: when O(state=loaded)
  type: list
  elements: str
outcome:
  description: How the engine ended, V(terminated), V(killed) or V(gone), or what had to be done.
  returned: when O(state=unloaded)
  type: str
failure:
  description: Why it failed, C(kind), C(stage) and the C(log_tail).
  returned: failure
  type: dict
"""
