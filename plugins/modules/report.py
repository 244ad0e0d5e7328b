#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Make the Markdown report of a packet
version_added: 0.1.0
description:
  - Writes C(report.md) from what lies in a packet. The report is derived; it can be thrown away and made again.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
attributes:
  diff_mode:
    support: full
options:
  packet:
    description: The packet's folder.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Make the report again
  tandem.campaign.report:
    packet: /home/me/campaigns/august/primary
"""

RETURN = r"""
report:
  description: The report's path.
  returned: success
  type: str
"""
