# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The independent reader, for those who hand it to the mode transaction."""

from __future__ import annotations

from ._mode.heal import StateReader
from ._state.difference import diff_states
from ._state.final import final_state
from ._state.reader import read_state, unread

READER = StateReader(read_state, unread, diff_states, final_state)
