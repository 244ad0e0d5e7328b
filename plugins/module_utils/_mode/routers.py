# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which dialect a router speaks."""

from __future__ import annotations

from .._words.errors import RefusedError
from .._words.host import HostDeclaration
from .router import Asker, Dialect, Router
from .router_http import HttpDialect
from .router_sglang import SglangDialect
from .router_vllm import VllmDialect


def router_of(host: HostDeclaration, name: str) -> Router:
    """The router of a service that declares admission."""
    admission = host.services[name].admission
    if admission is None:
        raise RefusedError(f"service {name} declares no admission, so it is no router")
    dialect: Dialect
    if admission.http is not None:
        dialect = HttpDialect(admission.http)
    elif admission.api == "vllm":
        dialect = VllmDialect()
    else:
        dialect = SglangDialect()
    return Router(Asker(name, admission), dialect)
