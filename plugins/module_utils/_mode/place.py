# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a host's reservation is: a file of its own, so that a gate doesn't carry the mode transaction."""

from __future__ import annotations

from pathlib import Path


def reservation_folder(state_dir: Path) -> Path:
    """The folder that is there while the host is not given back."""
    return state_dir / "reservation"
