# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a running endpoint what it is, from the host, and plans the gates for it. No mode is touched and nothing is started."""

from __future__ import annotations

import time
from typing import Any

from ..module_utils._evidence.record import stamp, utc
from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import CampaignError, InputError
from ..module_utils._words.host import HostFacts
from ..module_utils._words.identity import Identity
from ..module_utils._words.profile import Profile
from ..plugin_utils.endpoint import context_of, endpoint_lane, endpoint_suite, model_of, profiles_from
from ..plugin_utils.host_program import HostProgramAction
from ..plugin_utils.packets import packet_folder
from ..plugin_utils.provenance import collection_identity
from ..plugin_utils.recipes import read_recipes, recipe_named, search_path
from ..plugin_utils.settings import campaign_id

SPEC: dict[str, dict[str, Any]] = {
    "url": {"type": "str", "required": True},
    "campaign_id": {"type": "str", "default": "gate"},
    "model": {"type": "str", "default": ""},
    "key_file": {"type": "str"},
    "profile": {"type": "dict", "default": {}},
    "recipe": {"type": "str", "default": ""},
    "recipe_paths": {"type": "list", "elements": "str", "default": []},
    "context_tokens": {"type": "int", "default": 0},
    "state_dir": {"type": "str", "default": ""},
    "dir": {"type": "str", "default": ""},
}
NOT_STARTED = "the endpoint was running already; nothing of its start is known here"
UNKNOWN = (
    "recipe", "recipe_sha256", "lane_key", "weights_sha256", "engine", "engine_version", "roles", "topology_sha256", "contract_sha256", "plan_sha256",
    "live_sha256", "protocols",
)  # fmt: skip


class ActionModule(HostProgramAction):
    """See the module file of the same name for the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        variables = task_vars or {}
        _checked, options = self.validate_argument_spec(argument_spec=SPEC, mutually_exclusive=[("profile", "recipe")])
        try:
            return self._planned(options, variables)
        except (OSError, CampaignError) as exc:
            return {"failed": True, "msg": str(exc)}

    def _planned(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        url = options["url"].rstrip("/").removesuffix("/v1")
        if not url.startswith("http://"):
            raise InputError(
                f"gate_url {options['url']!r}: an http:// address is needed; TLS would be in every figure (put it behind a plain local port)"
            )
        campaign = campaign_id(options["campaign_id"])
        state_dir, _reserved, present = self.look(options["state_dir"])
        told = self.call_program(
            {"state": "asked", "base_url": url, "key_file": options["key_file"], "model": options["model"]},
            variables,
            state_dir=state_dir,
            present=present,
            # The gates need it there, too; a look leaves nothing behind.
            keep=present or not self._task.check_mode,
        )
        if told.get("failed"):
            return told
        model = model_of(options["model"], told, url)
        context_tokens = context_of(options["context_tokens"], told, url)
        profiles = self._profiles(options, variables.get("inventory_dir"), context_tokens, bool(told["reasons"]))
        suite, protocols = endpoint_suite(model, told, profiles, context_tokens)
        name, now = str(variables["inventory_hostname"]), time.time()
        identity = Identity(
            campaign,
            name,
            utc(now),
            collection_identity(),
            simulated=False,
            unknown=dict.fromkeys(UNKNOWN, NOT_STARTED),
        )
        folder = f"{state_dir}/campaigns/{campaign}/lanes/{suite.name}/{stamp(now)}"
        lane = endpoint_lane(suite, protocols, told, url, identity, folder)
        return {
            "changed": False,
            "identity": to_document(identity),
            "facts": to_document(HostFacts(observed=False, wsl2=False, link=None)),
            "packet": str(packet_folder(options["dir"], campaign, name)),
            "attempt": stamp(now),
            "state_dir": state_dir,
            "lanes": [lane],
            "to_run": [suite.name],
        }

    def _profiles(
        self, options: dict[str, Any], inventory_dir: str | None, context_tokens: int, reasons: bool
    ) -> tuple[Profile, ...]:
        if not options["recipe"]:
            return profiles_from(options["profile"], context_tokens, reasons=reasons)
        folders = search_path(options["recipe_paths"], inventory_dir)
        return recipe_named(options["recipe"], read_recipes(folders), folders).recipe.profile
