# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python3 packet_check.pyz PACKET``: a packet checked on any machine with Python 3.10 or newer, without Ansible, GPU and network."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ._evidence.say import say
from ._packet.check import PacketReport, check_packet
from ._words.errors import CampaignError
from ._words.text import plain


def main(arguments: list[str] | None = None) -> int:
    """0: the packet holds; 1: it doesn't; 2: it can't be checked."""
    parser = argparse.ArgumentParser(
        prog="packet_check.pyz",
        description="Check a packet of tandem.campaign: hashes, links, and verdicts made again from its rows.",
    )
    parser.add_argument("packet", type=Path, help="the packet's folder, <campaign>/<host>")
    parser.add_argument("--signers", type=Path, help="file of allowed signers, as for ssh-keygen -Y verify")
    parser.add_argument("--signer", help="who of them has to have signed the manifest")
    parser.add_argument("--json", action="store_true", help="the whole report as JSON")
    options = parser.parse_args(arguments)
    if bool(options.signers) != bool(options.signer):
        parser.error("--signers and --signer go together")
    try:
        report = check_packet(options.packet, options.signers, options.signer)
    except CampaignError as exc:
        say(plain(str(exc), 600))
        return 2
    say(json.dumps(report.as_document(), indent=1) if options.json else in_words(report))
    return 1 if report.problems else 0


def in_words(report: PacketReport) -> str:
    """A line for each problem, and the sum. Text from a packet goes to a terminal: no control characters."""
    facts = report.facts
    lines = [plain(str(problem), 400) for problem in report.problems]
    signed = f"signed with {facts['signed_by']}" if facts["signed_by"] else "not signed"
    lines.append(
        f"{len(lines)} problems"
        if lines
        else f"holds: {facts['files']} files, {len(facts['lanes'])} lanes recomputed from their rows; {signed}"
    )
    return "\n".join(lines)
