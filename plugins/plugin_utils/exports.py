# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results for programs, below ``exports/``: JSON, CSV, JUnit XML, a Prometheus text file. All derived."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from .junit import junit_xml
from .prometheus import prometheus_text
from .results import results_of
from .rows_csv import rows_csv

FOLDER = "exports"
#: Format -> (its file, what writes it).
EXPORTS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "json": ("results.json", lambda packet: json.dumps(results_of(packet), indent=1, ensure_ascii=False) + "\n"),
    "csv": ("rows.csv", rows_csv),
    "junit": ("junit.xml", lambda packet: junit_xml(results_of(packet))),
    "prometheus": ("tandem.prom", lambda packet: prometheus_text(results_of(packet))),
}


def export_files(packet: Path, formats: Sequence[str]) -> dict[str, str]:
    """Path below the packet -> text, of those ``formats`` that are exports."""
    return {f"{FOLDER}/{file}": text_of(packet) for name, (file, text_of) in EXPORTS.items() if name in formats}
