# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and validates a campaign, and decides every lane before anything is touched. Runs on the controller."""

from __future__ import annotations

import datetime
import time
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._engine.adapters import has_collective
from ..module_utils._evidence.record import stamp, utc
from ..module_utils._host.topology import drift
from ..module_utils._mode.lock import DEFAULT_LOCK
from ..module_utils._words.documents import from_document, sha256_of, to_document
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.host import DOCKER_SOCKET, HostDeclaration, HostFacts
from ..module_utils._words.identity import Identity
from ..module_utils._words.suite import suite_of
from ..module_utils._words.text import plain
from ..plugin_utils.lane import Lane, Observed
from ..plugin_utils.packets import Packet, packet_folder
from ..plugin_utils.planning import decide
from ..plugin_utils.programs import launchers
from ..plugin_utils.provenance import collection_identity
from ..plugin_utils.recipes import FoundRecipe, read_recipes, recipe_named, search_path
from ..plugin_utils.refusals import fatal, host_problems
from ..plugin_utils.rendering import lane_lines
from ..plugin_utils.settings import assumed_facts, campaign_id, host_declaration
from ..plugin_utils.signatures import known_signatures
from ..plugin_utils.sources import source_documents
from ..plugin_utils.wanted import needs_docker, unique_images, unique_patch_sets, unique_snapshots

UNKNOWN_YET = {
    "recipe": "the document speaks of the host, not of a lane",
    "recipe_sha256": "the document speaks of the host, not of a lane",
    "lane_key": "the weights were not proven",
    "weights_sha256": "the weights were not proven",
    "engine": "the document speaks of the host, not of a lane",
    "engine_version": "the engine was not loaded",
    "roles": "no roles were assigned",
    "topology_sha256": "no roles were assigned",
    "contract_sha256": "the document speaks of the host, not of a lane",
    "plan_sha256": "no plan was made",
    "live_sha256": "the engine was not loaded",
    "protocols": "the document speaks of the host, not of a lane",
}
SPEC: dict[str, dict[str, Any]] = {
    "campaign_id": {"type": "str", "required": True},
    "recipes": {"type": "list", "elements": "str", "required": True},
    "recipe_paths": {"type": "list", "elements": "str", "default": []},
    "gpu_roles": {"type": "dict", "required": True},
    "services": {"type": "dict", "default": {}},
    "modes": {"type": "dict", "default": {}},
    "cache": {"type": "dict", "required": True},
    "engine_environments": {"type": "dict", "default": {}},
    "state_dir": {"type": "str", "default": ""},
    "lock_path": {"type": "str", "default": DEFAULT_LOCK},
    "lease_s": {"type": "float", "default": 60.0},
    "port": {"type": "int", "default": 39050},
    "min_free_gib": {"type": "float", "default": 1.0},
    "docker_socket": {"type": "str", "default": DOCKER_SOCKET},
    "route_files": {"type": "list", "elements": "str", "default": []},
    "gpu_idle_mib": {"type": "int", "default": 2500},
    "gpu_release_s": {"type": "float", "default": 180.0},
    "docker_network": {"type": "str", "choices": ["bridge", "host"], "default": "bridge"},
    "docker_gpus": {"type": "str", "choices": ["nvidia", "cdi"], "default": "nvidia"},
    "engine_key_file": {"type": "str"},
    "rehearsal": {"type": "dict"},
    "signatures": {"type": "list", "elements": "dict", "default": []},
    "takeover": {"type": "bool", "default": False},
    "dir": {"type": "str", "default": ""},
    "host_class": {"type": "dict", "default": {}},
    "fresh": {"type": "bool", "default": False},
    "show": {"type": "bool", "default": False},
    "host_report": {"type": "dict"},
    "snapshots": {"type": "list", "elements": "dict", "default": []},
    "images": {"type": "list", "elements": "dict", "default": []},
}


class ActionModule(ActionBase):
    """Controller only; see the module file of the same name for the options."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(argument_spec=SPEC)
        variables = task_vars or {}
        try:
            return self._plan(options, str(variables["inventory_hostname"]), variables.get("inventory_dir"))
        except CampaignError as exc:
            raise AnsibleActionFail(str(exc)) from exc

    def _plan(self, options: dict[str, Any], name: str, inventory_dir: str | None) -> dict[str, Any]:
        report = options["host_report"]
        state_dir = report["state_dir"]["path"] if report else options["state_dir"]
        host = host_declaration(options, state_dir)
        campaign = campaign_id(options["campaign_id"])
        folders = search_path(options["recipe_paths"], inventory_dir)
        known = read_recipes(folders)
        known_signatures(options["signatures"])
        found = [recipe_named(recipe, known, folders) for recipe in options["recipes"]]
        if len({item.recipe.name for item in found}) != len(found):
            raise CampaignError("campaign_recipes names a recipe twice")
        if report and (problems := host_problems(host, report, takeover=options["takeover"])):
            raise fatal(problems)
        packet = Packet(packet_folder(options["dir"], campaign, name))
        facts = from_document(HostFacts, report["facts"]) if report else assumed_facts(options["host_class"])
        simulated = host.rehearsal is not None
        base = Identity(
            campaign, name, utc(time.time()), collection_identity(), simulated=simulated, unknown=UNKNOWN_YET
        )
        lanes = self._lanes(found, host, facts, base, options)
        differences = drift(options["host_class"], to_document(facts)) if report else []
        for text in differences if options["show"] or options["snapshots"] else []:
            self._display.warning(plain(f"{name}: {text}"))
        if options["show"]:
            self._print(name, lanes)
        return {**self._result(host, base, facts, packet, lanes, fresh=options["fresh"]), "drift": differences}

    def _lanes(
        self, found: list[FoundRecipe], host: HostDeclaration, facts: HostFacts, base: Identity, options: dict[str, Any]
    ) -> list[Lane]:
        report = options["host_report"]
        observed = Observed(
            facts,
            report["engine_environments"] if report else {},
            {(item["repo"], item["revision"]): item for item in options["snapshots"]},
            {item["image"]: item for item in options["images"]},
        )
        return [
            decide(item, host, observed, base, launchers(host.state_dir), inspecting=report is None) for item in found
        ]

    def _print(self, name: str, lanes: list[Lane]) -> None:
        for lane in lanes:
            for line in lane_lines(name, lane):
                self._display.display(plain(line, 2000) if line.strip() else "")

    def _result(
        self, host: HostDeclaration, base: Identity, facts: HostFacts, packet: Packet, lanes: list[Lane], *, fresh: bool
    ) -> dict[str, Any]:
        attempt = stamp(time.time())
        documents = [lane_document(lane, host, packet, attempt, fresh=fresh) for lane in lanes]
        return {
            "changed": False,
            "host": to_document(host),
            "identity": to_document(base),
            "facts": to_document(facts),
            "topology_sha256": sha256_of(facts),
            "packet": str(packet.folder),
            "attempt": attempt,
            "snapshots": unique_snapshots(lanes, host),
            "images": unique_images(lanes, host),
            "patch_sets": unique_patch_sets(lanes, host),
            "docker_socket": host.docker_socket if needs_docker(lanes, host) else "",
            "lanes": documents,
            "to_run": [document["name"] for document in documents if document["action"] == "run"],
        }


def lane_document(lane: Lane, host: HostDeclaration, packet: Packet, attempt: str, *, fresh: bool) -> dict[str, Any]:
    """A lane for the tasks that follow. ``action``: run, refused, or complete with the stored verdict."""
    recipe = lane.found.recipe
    stored = None if fresh or lane.refusal else packet.stored_lane(recipe.name, lane.key)
    return {
        "name": recipe.name,
        "action": "refused" if lane.refusal else ("complete" if stored else "run"),
        "refusal": lane.refusal,
        "outcome_if_refused": lane.outcome_if_refused,
        "stored": stored,
        "recipe": to_document(recipe),
        "suite": to_document(suite_of(recipe)),
        "recipe_file": str(lane.found.file),
        "protocols": {name: protocol.document for name, protocol in lane.protocols.items()},
        "protocol_texts": {name: protocol.text for name, protocol in lane.protocols.items()},
        "topology": to_document(lane.topology),
        "contract": to_document(lane.contract),
        "findings": to_document(lane.findings),
        "plan": to_document(lane.plan),
        "collective": lane.plan is not None and has_collective(recipe.engine.kind, lane.plan.roles),
        "base_url": lane.plan.base_url if lane.plan else None,
        "identity": to_document(lane.identity),
        "lane_key": lane.key,
        "fit": to_document(lane.fit),
        "sources": source_documents(lane.found, datetime.datetime.now(datetime.timezone.utc).date()),
        "snapshot": dict(lane.weights) if lane.weights else None,
        "image": dict(lane.image) if lane.image else None,
        "folder": f"{host.state_dir}/campaigns/{lane.identity.campaign}/lanes/{recipe.name}/{attempt}",
    }
