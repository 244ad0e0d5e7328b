#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: compare
short_description: Set two packets against each other
version_added: 0.1.0
description:
  - Compares the lanes that two packets share, or two campaigns host by host. Required checks by their verdicts, figures by the factor between them with
    its 95 % interval over the very requests, and what differs in recipe, contract, host, build and protocols in between.
  - A figure is C(faster), C(slower) or C(alike) only where O(thresholds) declares what counts as alike and its interval is wholly on one side;
    else it is C(undecided).
  - Both packets are checked as M(tandem.campaign.packet_check) does; one that does not hold is compared with nothing.
  - Refuses with the reason where protocol, its text, visible budget, reasoning, sampling, prompt length (more than 1 % apart) or hardware are unlike, or
    a lane's figures did not pass. With O(baseline) such lanes stand side by side with what makes them unlike, and nothing is called faster or slower.
    A rehearsal is never compared with a measurement.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
attributes:
  diff_mode:
    support: full
options:
  before:
    description: Folder of the packet (C(campaigns/<campaign>/<host>)) or campaign (C(campaigns/<campaign>)) that is compared with.
    type: str
    required: true
  after:
    description: The same of the one that is new.
    type: str
    required: true
  dest:
    description: Folder for C(comparison.json), C(comparison.md) with its picture, and C(comparison.html); with several hosts in a folder each.
    type: str
  thresholds:
    description:
      - Figure to the share by which it may differ and still be alike, C(decode_tok_s=0.05) for 5 %.
      - Figures are C(first_output_s), C(first_visible_s), C(prefill_tok_s), C(decode_tok_s), C(e2e_s) and C(request_tok_s).
    type: dict
    default: {}
  baseline:
    description: Whether O(before) is a declared baseline, which is printed beside what is unlike, without any verdict.
    type: bool
    default: false
  lanes:
    description: Recipe in O(before) to recipe in O(after), where a lane has another name.
    type: dict
    default: {}
  formats:
    description: What is written beside C(comparison.json).
    type: list
    elements: str
    choices: [markdown, html]
    default: [markdown, html]
  fail_on:
    description: What a comparison may come to that fails the task, after everything is written.
    type: list
    elements: str
    choices: [regressed, slower, undecided, faster, alike, undeclared, side_by_side, refused]
    default: []
"""

EXAMPLES = r"""
- name: Has the driver made it slower?
  tandem.campaign.compare:
    before: /home/me/campaigns/august/primary
    after: /home/me/campaigns/september/primary
    thresholds:
      first_visible_s: 0.05
      decode_tok_s: 0.03
    dest: /home/me/campaigns/september
    fail_on: [regressed, slower]
"""

RETURN = r"""
comparisons:
  description: One document for each pair of packets, as in C(comparison.json) (schema C(tandem.comparison/v1)).
  returned: success
  type: list
  elements: dict
reports:
  description: The paths of what was written for people.
  returned: success
  type: list
  elements: str
"""
