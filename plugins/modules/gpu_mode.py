#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes a host's GPU roles for a campaign and gives them back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_mode
short_description: Take the GPU roles of a shared host exclusively, and give them back
version_added: 0.1.0
description:
  - V(exclusive) reserves the host, records its state, checks that everything can be restored, closes admission at live routers and stops the
    services. A journal is written before and after each step; a keeper process holds the reservation and gives the host back if its
    controller falls silent.
  - V(restored) undoes what the journal says was done, follows the state before and not the mode's list, and compares the two states.
  - V(observed) only looks.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.host
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  state:
    description: What the host shall be.
    type: str
    choices: [exclusive, restored, observed]
    required: true
  host:
    description: The host's declaration, as RV(tandem.campaign.plan#module:host) returns it. Required for V(exclusive) and V(observed).
    type: dict
  campaign:
    description: The campaign's name. Required for V(exclusive).
    type: str
  identity:
    description: The identity block for the evidence. Required for V(exclusive).
    type: dict
  reason:
    description: Why the host is given back; it stands in the journal.
    type: str
    default: end of the campaign
  keeper:
    description: The keeper program on the host; set by the action plugin.
    type: path
"""

EXAMPLES = r"""
- name: Take the host
  tandem.campaign.gpu_mode:
    state: exclusive
    host: "{{ plan.host }}"
    state_dir: /var/lib/tandem-campaign
    campaign: august
    identity: "{{ plan.identity }}"

- name: Give the host back
  tandem.campaign.gpu_mode:
    state: restored
    state_dir: /var/lib/tandem-campaign
"""

RETURN = r"""
steps:
  description: What was done, or would be done in check mode, each with its undo.
  returned: success
  type: list
  elements: str
folder:
  description: Where the reservation's evidence lies on the host (journal, states, difference); null where there was no reservation.
  returned: success
  type: str
differences:
  description: What differs from the state before (C(path), C(before), C(after)). Empty means it is as it was; null where nothing was compared.
  returned: when O(state=restored)
  type: list
  elements: dict
observed:
  description: The host's state as the independent reader sees it.
  returned: when O(state=observed)
  type: dict
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._evidence.progress import Progress
from ..module_utils._mode.enter import Request, enter, planned_steps
from ..module_utils._mode.heal import heal, wait_released
from ..module_utils._state.reader import diff_states, read_state
from ..module_utils._words.documents import from_document
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.host import HostDeclaration
from ..module_utils._words.identity import Identity


def exclusive(module: AnsibleModule, progress: Progress) -> dict[str, Any]:
    """Takes the host, or says what that would do."""
    params = module.params
    host = from_document(HostDeclaration, params["host"])
    if module.check_mode:
        steps = planned_steps(host)
        return {
            "changed": True,
            "steps": steps,
            "folder": None,
            "diff": {"before": "", "after": "\n".join(steps) + "\n"},
        }
    request = Request(params["campaign"], host, from_document(Identity, params["identity"]), params["keeper"])
    steps, folder = enter(
        Path(params["state_dir"]), request, read_state, diff_states, lambda text: progress.tell("mode", text)
    )
    return {
        "changed": True,
        "steps": steps,
        "folder": str(folder),
        "diff": {"before": "", "after": "\n".join(steps) + "\n"},
    }


def restored(module: AnsibleModule, progress: Progress) -> dict[str, Any]:
    """Gives the host back, or says whether there is anything to give back."""
    state_dir = Path(module.params["state_dir"])
    if module.check_mode:
        unresolved = (state_dir / "reservation").is_dir()
        return {
            "changed": unresolved,
            "steps": ["give the host back"] if unresolved else [],
            "folder": None,
            "differences": None,
        }
    healed = heal(
        state_dir, module.params["reason"], read_state, diff_states, lambda text: progress.tell("restore", text)
    )
    wait_released(healed)
    return {
        "changed": healed.changed,
        "steps": list(healed.done),
        "folder": str(healed.folder) if healed.folder else None,
        "differences": None if healed.differences is None else list(healed.differences),
    }


def observed(module: AnsibleModule) -> dict[str, Any]:
    """The state, unchanged."""
    return {
        "changed": False,
        "steps": [],
        "folder": None,
        "observed": read_state(from_document(HostDeclaration, module.params["host"])),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["exclusive", "restored", "observed"], "required": True},
            "host": {"type": "dict"},
            "state_dir": {"type": "path", "required": True},
            "campaign": {"type": "str"},
            "identity": {"type": "dict"},
            "reason": {"type": "str", "default": "end of the campaign"},
            "keeper": {"type": "path"},
            "progress": {"type": "path"},
        },
        required_if=[("state", "exclusive", ("host", "campaign", "identity")), ("state", "observed", ("host",))],
        supports_check_mode=True,
    )
    progress = Progress(module.params["progress"])
    acts = {
        "exclusive": lambda: exclusive(module, progress),
        "restored": lambda: restored(module, progress),
        "observed": lambda: observed(module),
    }
    try:
        module.exit_json(**acts[module.params["state"]]())
    except CampaignError as exc:
        module.fail_json(**exc.as_result())


if __name__ == "__main__":
    main()
