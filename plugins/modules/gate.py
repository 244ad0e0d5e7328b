#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gate
short_description: Run functional, quality and capacity gates against a loaded engine
version_added: 0.1.0
description:
  - Runs each profile's gates in order. After a required gate that did not pass, the rest is V(not_run), so that what is corrupt is never timed.
  - A transport fault, a 5xx, a timeout or a fault of our own ends the run as RV(fault); it is never a verdict on the model.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.host
  - tandem.campaign.host.evidence
attributes:
  check_mode:
    support: full
    details: In check mode no request is sent; the gates that would run are returned as V(not_run).
  diff_mode:
    support: none
options:
  suite:
    description:
      - What is run. C(name), C(model) (the name to ask for), C(engine), C(context_tokens), C(profile), C(parsers), C(speculative), as
        RV(tandem.campaign.plan#module:lanes) and M(tandem.campaign.endpoint) make it.
    type: dict
    required: true
  protocols:
    description: Protocol name to its document, for every protocol that the suite uses.
    type: dict
    required: true
  base_url:
    description: Where the engine answers.
    type: str
    required: true
  key_file:
    description: A file on the host with the key that the engine asks for; it is read for each request and never shown.
    type: path
  devices:
    description:
      - GPU role to the device's UUID. These cards are sampled once a second while the gates run (power, temperature, clocks, throttling), into
        C(telemetry.jsonl), and each capacity lane says how much energy an output token took, and whether the samples bear that out.
      - Without it, or where no driver answers, there is no telemetry, and energy is marked as not valid with the reason.
    type: dict
    default: {}
  seed:
    description: Makes the prompts of this attempt differ from those of any other.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Run the gates
  tandem.campaign.gate:
    suite: "{{ lane.suite }}"
    protocols: "{{ lane.protocols }}"
    base_url: http://127.0.0.1:39050
    state_dir: /var/lib/tandem-campaign
    folder: "{{ lane.folder }}"
    identity: "{{ loaded.identity }}"
    seed: 20260801T120000.000Z
"""

RETURN = r"""
profiles:
  description: One entry a profile with its C(gates), each with C(protocol), C(verdict), C(reason), C(required) and C(checks).
  returned: success
  type: list
  elements: dict
fault:
  description: The infrastructure fault that ended the run early, or null.
  returned: success
  type: str
"""
