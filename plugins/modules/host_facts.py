#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what a campaign has to know of a host before it touches anything."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Read what a campaign must know of a workstation
version_added: 0.1.0
description:
  - Reads kernel, memory, GPUs, the engines' Python environments, the state folder and the engine port. Starts nothing and changes nothing.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  state_dir:
    description:
      - The folder for state on the host. Empty means C(/var/lib/tandem-campaign) for root and C(~/.local/state/tandem-campaign) for others.
    type: str
    default: ""
  port:
    description: The port that the engine will listen on.
    type: int
    required: true
  docker_socket:
    description: The Docker Engine's socket, for hosts whose engines or services are containers; empty where none is.
    type: str
    default: ""
  engine_environments:
    description: Engine kind to C({python}), the interpreter of its Python environment.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Read the host
  tandem.campaign.host_facts:
    port: 39050
    engine_environments:
      llama_cpp:
        python: /opt/engines/xllamacpp/bin/python
"""

RETURN = r"""
facts:
  description: What was observed. Sizes in GiB or MiB as named; what the driver does not tell is null.
  returned: success
  type: dict
  sample: {"observed": true, "wsl2": false, "kernel": "6.6.0", "gpus": []}
state_dir:
  description: The state folder's C(path), whether it is C(writable), and C(free_gib) there.
  returned: success
  type: dict
  sample: {"path": "/var/lib/tandem-campaign", "writable": true, "free_gib": 80.2}
port_free:
  description: Whether a server could listen on O(port) now.
  returned: success
  type: bool
port_models:
  description: What answers on O(port) instead, as the model names that it lists.
  returned: success
  type: list
  elements: str
engine_environments:
  description: Engine kind to C(python), C(distributions) (name to version) and C(problem).
  returned: success
  type: dict
reservation:
  description: The unresolved reservation of this host (C(campaign), C(since)), or null.
  returned: success
  type: dict
"""

from dataclasses import replace
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.occupant import listed_models
from ..module_utils._host.docker import Docker
from ..module_utils._host.docker_facts import docker_facts
from ..module_utils._host.probe import (
    default_state_dir,
    folder_report,
    port_is_free,
    read_engine_environment,
    read_facts,
    run_program,
)
from ..module_utils._mode.reservation import read_reservation
from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.host import HostFacts


def with_docker(facts: HostFacts, socket: str) -> HostFacts:
    """The facts with what the Docker Engine says of itself, or why it says nothing."""
    if not socket:
        return facts
    try:
        docker = Docker(socket)
        return replace(facts, docker=docker_facts(docker.info(), docker.version()))
    except CampaignError as exc:
        return replace(facts, docker_problem=str(exc))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state_dir": {"type": "str", "default": ""},
            "port": {"type": "int", "required": True},
            "docker_socket": {"type": "str", "default": ""},
            "engine_environments": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    state_dir = module.params["state_dir"] or default_state_dir()
    try:
        reservation = read_reservation(Path(state_dir))
        free, port = port_is_free("127.0.0.1", module.params["port"]), module.params["port"]
        module.exit_json(
            changed=False,
            facts=to_document(with_docker(read_facts(run_program), module.params["docker_socket"])),
            state_dir=folder_report(state_dir),
            port_free=free,
            port_models=[] if free else listed_models(f"http://127.0.0.1:{port}"),
            engine_environments={
                kind: read_engine_environment(str(environment["python"]), run_program)
                for kind, environment in module.params["engine_environments"].items()
            },
            reservation={"campaign": reservation.campaign, "since": reservation.since} if reservation else None,
        )
    except CampaignError as exc:
        module.fail_json(**exc.as_result())


if __name__ == "__main__":
    main()
