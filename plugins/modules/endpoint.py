#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: endpoint
short_description: Ask a running endpoint what it is, and plan the gates for it
version_added: 0.1.0
description:
  - For a model that somebody else serves. Nothing is started, stopped or reserved, and no mode is touched.
  - Reads C(/v1/models) and the engine's own pages from the host, and makes the suite that M(tandem.campaign.gate) runs. An engine that isn't known is asked
    by what all OpenAI-compatible servers have in common.
  - What the endpoint says of itself is kept as that; none of it is proven, and the verdict carries the caveat C(endpoint).
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
attributes:
  check_mode:
    support: full
    details: The endpoint is only read, in check mode as well.
  diff_mode:
    support: none
options:
  url:
    description: Its address as the host reaches it, C(http) only, with or without C(/v1).
    type: str
    required: true
  campaign_id:
    description: Names the packet's folder.
    type: str
    default: gate
  model:
    description: The name to ask for. Empty means the first that the endpoint lists.
    type: str
    default: ""
  key_file:
    description: A file on the host with the key that the endpoint asks for; it is read for each request and never shown.
    type: str
  profile:
    description:
      - What to run, in the shape of a recipe's C(profile) (C(name), C(reasoning), C(functional), C(quality), C(capacity)).
      - Empty means every check that the context has room for, and twelve requests of 32,768 tokens or of the whole context, with reasoning as the
        endpoint has it. One short question shows whether it reasons unasked; then there are budgets for that, and C(capacity/v4-reasoning) is used.
    type: dict
    default: {}
  recipe:
    description: A recipe whose profiles are run. Mutually exclusive with O(profile).
    type: str
    default: ""
  recipe_paths:
    description: Folders searched for recipe sets before C(recipes/) beside the inventory and the collection's own.
    type: list
    elements: str
    default: []
  context_tokens:
    description: The context to keep to, at most what the endpoint serves. V(0) means what it says, which not every server does.
    type: int
    default: 0
  state_dir:
    description: The state folder on the host. Empty means C(/var/lib/tandem-campaign) for root, else C(~/.local/state/tandem-campaign).
    type: str
    default: ""
  dir:
    description: Where packets go on the controller. Empty means C($PWD/campaigns).
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Ask what answers there
  tandem.campaign.endpoint:
    url: http://127.0.0.1:8000
  register: gate_plan

- name: Ask for a model that thinks, with a profile of its own
  tandem.campaign.endpoint:
    url: http://127.0.0.1:8000
    model: my-model
    profile:
      name: "on"
      reasoning: {mode: "on", kwargs: {enable_thinking: true}}
      functional: {protocol: functional/v1, required: [known_answer, coherence, tool_call]}
"""

RETURN = r"""
lanes:
  description: One lane (C(name), C(suite), C(protocols), C(endpoint), C(identity), C(folder)) for M(tandem.campaign.gate) and M(tandem.campaign.verdict).
  returned: success
  type: list
  elements: dict
packet:
  description: The packet's folder on the controller.
  returned: success
  type: str
state_dir:
  description: The state folder on the host.
  returned: success
  type: str
"""
