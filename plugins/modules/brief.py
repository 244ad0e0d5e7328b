#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: brief
short_description: Make the compatibility brief of a planned campaign
version_added: 0.1.0
description:
  - Writes C(brief.md) into the packet's folder, from what M(tandem.campaign.plan) returned. It records what was decided before any launch and what that
    rests on, and measures nothing. It can be made again at any time, and is no evidence.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
attributes:
  diff_mode:
    support: full
options:
  plan:
    description: What M(tandem.campaign.plan) returned, with or without a host's report.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write down what was decided
  tandem.campaign.brief:
    plan: "{{ campaign_plan }}"
"""

RETURN = r"""
brief:
  description: The brief's path.
  returned: success
  type: str
"""
