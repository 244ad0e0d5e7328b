# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory's variables as one validated declaration."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from ..module_utils._mode.plan import check_no_circle
from ..module_utils._words.documents import from_document
from ..module_utils._words.errors import InputError
from ..module_utils._words.host import HostDeclaration, HostFacts
from .validation import validated

CAMPAIGN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def host_declaration(options: dict[str, Any], state_dir: str) -> HostDeclaration:
    """The host as declared. Errors name the inventory variable."""
    names = [field.name for field in dataclasses.fields(HostDeclaration)]
    document = {name: options[name] for name in names if name in options} | {"state_dir": state_dir}
    try:
        host = validated(HostDeclaration, document, "inventory")
    except InputError as exc:
        raise InputError(re.sub(r"inventory: (\w+)", r"inventory: campaign_\1", str(exc))) from exc
    if not host.gpu_roles:
        raise InputError(
            "inventory: campaign_gpu_roles is empty: name at least one role, like {compute_a: {uuid: GPU-…}} or {cpu: {kind: cpu}}"
        )
    check_no_circle(host)
    return host


def campaign_id(text: str) -> str:
    """It names folders on both sides, so it is a plain word."""
    if not CAMPAIGN_ID.fullmatch(text):
        raise InputError(f"campaign_id {text!r}: letters, digits, '.', '_' and '-' only, 64 at most")
    return text


def assumed_facts(host_class: dict[str, Any]) -> HostFacts:
    """Facts from ``campaign_host_class``, for inspection without a host."""
    try:
        return from_document(HostFacts, {"observed": False, "wsl2": False, "link": None, **host_class})
    except TypeError as exc:
        raise InputError(f"inventory: campaign_host_class: {exc}") from exc
