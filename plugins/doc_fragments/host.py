# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that the modules which work on a reserved host share."""

from __future__ import annotations


class ModuleDocFragment:
    """``tandem.campaign.host``: the state folder and progress. ``tandem.campaign.host.evidence``: where evidence goes and whose it is."""

    DOCUMENTATION = r"""
options:
  state_dir:
    description: The state folder on the host.
    type: path
    required: true
  progress:
    description: File for progress lines; set by the action plugin.
    type: path
"""

    EVIDENCE = r"""
options:
  folder:
    description: The attempt's folder on the host, for log, rows and artifacts.
    type: path
    required: true
  identity:
    description: The identity block for the evidence.
    type: dict
    required: true
"""
