#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Make the report of a packet, or one over many packets
version_added: 0.1.0
description:
  - Writes C(report.md) with its pictures (SVG, in C(charts/)) and C(report.html), one page that needs nothing else, from what lies in a packet. A
    packet's published copy gets its own. Reports are derived; they can be thrown away and made again.
  - With O(packets), writes one report over all of them into O(dest).
  - Pictures need C(matplotlib) on the controller; without it the report says the same in tables, and the task warns.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
attributes:
  diff_mode:
    support: full
options:
  packet:
    description: The packet's folder. One of O(packet) and O(packets) is required.
    type: str
  packets:
    description: Folders of packets that one report is made over. Requires O(dest).
    type: list
    elements: str
  dest:
    description: The folder for the report over O(packets).
    type: str
  formats:
    description:
      - What is written. C(markdown) and C(html) are for people; the others go to C(exports/) of O(packet), and to its copy's.
      - C(json) has verdicts, checks and figures in one flat document (C(results.json), its schema is C(docs/schemas/results-v1.json)).
      - C(csv) has a line a request (C(rows.csv)), C(junit) the checks as test cases (C(junit.xml)), C(prometheus) gauges for node_exporter's textfile
        collector (C(tandem.prom)).
    type: list
    elements: str
    choices: [markdown, html, json, csv, junit, prometheus]
    default: [markdown, html]
  raw:
    description: Whether the page of O(packet) holds every request and answer. They are closed until somebody opens one.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Make the report again
  tandem.campaign.report:
    packet: /home/me/campaigns/august/primary

- name: Make one page over two hosts
  tandem.campaign.report:
    packets:
      - /home/me/campaigns/august/primary
      - /home/me/campaigns/august/secondary
    dest: /home/me/campaigns/august
    formats: [html]
"""

RETURN = r"""
report:
  description: The path of the report that is looked at first; null where O(formats) is empty.
  returned: success
  type: str
reports:
  description: The paths of all reports.
  returned: success
  type: list
  elements: str
"""
