#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_mode
short_description: Take the GPU roles of a shared host exclusively, and give them back
version_added: 0.1.0
description:
  - V(exclusive) reserves the host, records its state, checks that everything can be restored, closes admission at live routers, stops the
    services and waits until their GPU memory is free. A journal is written before and after each step; a keeper process holds the
    reservation and gives the host back if its controller falls silent.
  - A container that holds a declared device without being a declared service is never stopped; it is named and the host is not taken.
  - V(restored) undoes what the journal says was done, follows the state before and not the mode's list, and compares the two states. What
    can't be given back is named, and all that doesn't depend on it is given back nevertheless.
  - V(observed) only looks.
  - No module is packed and sent. The keeper's program does all of this on the host with the standard library of its Python, once it lies there;
    the same program gives the host back by hand.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  state_dir:
    description: The state folder on the host; empty for the default of M(tandem.campaign.host_facts).
    type: str
    required: false
    default: ""
  state:
    description: What the host shall be.
    type: str
    choices: [exclusive, restored, observed]
    required: true
  host:
    description: The host's declaration, as RV(tandem.campaign.plan#module:host) returns it. Required for V(exclusive) and V(observed).
    type: dict
  campaign:
    description: The campaign's name. Required for V(exclusive).
    type: str
  identity:
    description: The identity block for the evidence. Required for V(exclusive).
    type: dict
  reason:
    description: Why the host is given back; it stands in the journal.
    type: str
    default: end of the campaign
  takeover:
    description:
      - Whether a reservation that nobody holds any more (its keeper is gone, by a crash or a power cut) is resolved first.
      - Without it such a host is refused. A reservation that a living keeper holds is never taken.
    type: bool
    default: false
  timeline:
    description: The packet's timeline on the controller, which is given each step.
    type: str
"""

EXAMPLES = r"""
- name: Take the host
  tandem.campaign.gpu_mode:
    state: exclusive
    host: "{{ plan.host }}"
    state_dir: /var/lib/tandem-campaign
    campaign: august
    identity: "{{ plan.identity }}"

- name: Give the host back
  tandem.campaign.gpu_mode:
    state: restored
    state_dir: /var/lib/tandem-campaign
"""

RETURN = r"""
steps:
  description: What was done, or would be done in check mode, each with its undo.
  returned: success
  type: list
  elements: str
folder:
  description: Where the reservation's evidence lies on the host (journal, states, difference); null where there was no reservation.
  returned: success
  type: str
differences:
  description: What differs from the state before (C(path), C(before), C(after)). Empty means it is as it was; null where nothing was compared.
  returned: when O(state=restored)
  type: list
  elements: dict
observed:
  description: The host's state as the independent reader sees it.
  returned: when O(state=observed)
  type: dict
final:
  description:
    - The same in few fields, C(mode), C(exclusive_owner), C(gpu_ownership) by role, C(services), C(admissions), C(unresolved) and
      C(blocked_workloads).
  returned: when O(state=observed)
  type: dict
reservation:
  description: Who holds the host (C(campaign), C(since), C(silence_s), C(keeper_alive)); null where nobody does.
  returned: when O(state=observed)
  type: dict
"""
