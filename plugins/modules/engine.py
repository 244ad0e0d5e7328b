#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads and unloads the pinned engine of a lane."""

from __future__ import annotations

DOCUMENTATION = r"""
module: engine
short_description: Load or unload the pinned engine of a lane
version_added: 0.1.0
description:
  - V(loaded) starts exactly the launch plan, fails at once with the last log lines when the engine ends, gives up at the plan's limit, is ready
    only when health answers, the served name is listed and one real completion came back, and then compares the live configuration with the plan.
  - V(unloaded) stops it within its limit and proves that it is gone.
  - The engine is a child of the keeper that O(state_dir)'s reservation has; see M(tandem.campaign.gpu_mode).
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.host
  - tandem.campaign.host.evidence
attributes:
  check_mode:
    support: full
    details: In check mode nothing is started; the plan is returned as it would be started.
  diff_mode:
    support: full
options:
  state:
    description: What the engine shall be.
    type: str
    choices: [loaded, unloaded]
    required: true
  plan:
    description: The launch plan, as RV(tandem.campaign.plan#module:lanes) holds it.
    type: dict
    required: true
  launcher:
    description: The program that starts the engine, already on the host; set by the action plugin.
    type: path
"""

EXAMPLES = r"""
- name: Load the engine
  tandem.campaign.engine:
    state: loaded
    plan: "{{ lane.plan }}"
    state_dir: /var/lib/tandem-campaign
    folder: /var/lib/tandem-campaign/campaigns/august/lanes/laguna/20260801T120000.000Z
    identity: "{{ lane.identity }}"
"""

RETURN = r"""
identity:
  description: The identity block with what the engine reported of itself.
  returned: when O(state=loaded)
  type: dict
ready_s:
  description: Seconds from the start to readiness.
  returned: when O(state=loaded)
  type: float
outcome:
  description: How the engine ended, V(terminated), V(killed) or V(gone).
  returned: when O(state=unloaded)
  type: str
failure:
  description: Why it failed, C(kind), C(stage) and the C(log_tail).
  returned: failure
  type: dict
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.lane import load, unload
from ..module_utils._evidence.progress import Progress
from ..module_utils._words.documents import from_document
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.identity import Identity
from ..module_utils._words.plan import LaunchPlan


def act(module: AnsibleModule) -> dict[str, Any]:
    """Loads or unloads, or says what would be started."""
    params = module.params
    plan = from_document(LaunchPlan, params["plan"])
    if module.check_mode:
        text = " ".join(plan.argv) + "\n"
        return {
            "changed": True,
            "diff": {
                "before": "" if params["state"] == "loaded" else text,
                "after": text if params["state"] == "loaded" else "",
            },
        }
    progress = Progress(params["progress"])
    state_dir, folder = Path(params["state_dir"]), Path(params["folder"])
    identity = from_document(Identity, params["identity"])
    verb = unload if params["state"] == "unloaded" else load
    return verb(plan, state_dir, folder, identity, lambda text: progress.tell("load", text))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["loaded", "unloaded"], "required": True},
            "plan": {"type": "dict", "required": True},
            "state_dir": {"type": "path", "required": True},
            "folder": {"type": "path", "required": True},
            "identity": {"type": "dict", "required": True},
            "launcher": {"type": "path"},
            "progress": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**act(module))
    except CampaignError as exc:
        module.fail_json(**exc.as_result())


if __name__ == "__main__":
    main()
