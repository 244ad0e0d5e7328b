# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes that modules and action plugins of this collection share."""

from __future__ import annotations


class ModuleDocFragment:
    """Standard attributes, and those of a plugin that acts on the controller only."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and return what it would do without changing the target.
  diff_mode:
    description: Returns what has changed, or would change in check mode, in diff mode.
"""

    CONTROLLER = r"""
options: {}
attributes:
  action:
    description: Runs on the controller; the target is not contacted.
    support: full
  check_mode:
    description: Can run in check mode and return what it would do without changing the target.
    support: full
  diff_mode:
    description: Returns what has changed, or would change in check mode, in diff mode.
    support: none
"""
