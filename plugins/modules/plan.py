#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Validate a campaign and decide every lane before anything is touched
version_added: 0.1.0
description:
  - Reads recipes and protocols, validates the inventory's declaration, and computes for every lane its contract, launch plan, identity and lane key.
  - Without O(host_report) it only needs the text and the inventory. With it, it refuses what the host lacks, and what is not built in this version.
  - A lane whose key has a complete, intact verdict in the packet is V(complete) and does not run again.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes.controller
options:
  campaign_id:
    description: Names the campaign and its folders; letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  recipes:
    description: Names of recipes, in the order of the lanes.
    type: list
    elements: str
    required: true
  recipe_paths:
    description: Folders that are searched for recipe sets before C(recipes/) beside the inventory and the collection's own.
    type: list
    elements: str
    default: []
  gpu_roles:
    description:
      - Role name to C({uuid}) or C({kind}) V(cpu).
      - C(memory_gb_s) beside it is the bandwidth of the device's memory in GB/s. The report sets decode rates beside what it allows; for cards whose
        bandwidth their maker publishes, it need not be declared.
    type: dict
    required: true
  services:
    description: What the owner runs on the host outside campaigns. See docs/usage.md for the keys.
    type: dict
    default: {}
  modes:
    description: Mode name to C({services}), the services that the mode runs.
    type: dict
    default: {}
  cache:
    description: The Hugging Face hub cache, C({path}), or C({volume}) with the hub's folder inside it as C(hub).
    type: dict
    required: true
  engine_environments:
    description: Engine kind to C({python}), for the process runtime.
    type: dict
    default: {}
  state_dir:
    description: The state folder on the host; empty for the default of M(tandem.campaign.host_facts).
    type: str
    default: ""
  lock_path:
    description: The host's reservation lock.
    type: str
    default: /run/lock/tandem-campaign.lock
  lease_s:
    description: Seconds of silence after which the keeper gives the host back.
    type: float
    default: 60.0
  port:
    description: The port that engines listen on.
    type: int
    default: 39050
  min_free_gib:
    description: Free space that evidence needs on the host.
    type: float
    default: 1.0
  docker_socket:
    description: The Docker Engine's socket on the host, for engines and services that are containers.
    type: str
    default: /var/run/docker.sock
  route_files:
    description: Files of aliases and routes on the host, whose content is compared before and after.
    type: list
    elements: str
    default: []
  gpu_idle_mib:
    description: What a declared device may use, in MiB, and still count as free.
    type: int
    default: 2500
  gpu_release_s:
    description: Seconds that freeing GPU memory may take after a stop.
    type: float
    default: 180.0
  docker_network:
    description:
      - How an engine in a container is reached. V(bridge) publishes its port on the host's loopback. V(host) shares the host's network, where the
        engine itself listens on loopback only; Docker Desktop's host network is not the host's.
    type: str
    choices: [bridge, host]
    default: bridge
  docker_gpus:
    description: Who serves the GPU request, Docker's V(nvidia) driver or V(cdi).
    type: str
    choices: [nvidia, cdi]
    default: nvidia
  engine_key_file:
    description: A file on the host with the key that the engine asks for, where its image sets one.
    type: str
  rehearsal:
    description:
      - A dress rehearsal. Every lane's engine is played by C(program), started with C(python) and a behaviour C(<recipe>.toml) from the folder C(behaviours);
        C(time_scale) replaces the behaviours' own.
      - No weights, image, GPU or engine environment is looked at, roles have to be C(kind) V(cpu), and all evidence is marked C(simulated).
    type: dict
  signatures:
    description: Signatures of engines' logs beside the collection's own, validated here; M(tandem.campaign.engine) uses them.
    type: list
    elements: dict
    default: []
  takeover:
    description: Whether a reservation that nobody holds any more is left to M(tandem.campaign.gpu_mode) instead of being refused here.
    type: bool
    default: false
  dir:
    description: Where packets go on the controller; empty for C($PWD/campaigns).
    type: str
    default: ""
  host_class:
    description: Assumed host facts for inspection without a host (C(wsl2), C(link), C(gpus)).
    type: dict
    default: {}
  fresh:
    description: Whether complete lanes run again.
    type: bool
    default: false
  show:
    description: Whether every lane's rendered plan is printed.
    type: bool
    default: false
  host_report:
    description: What M(tandem.campaign.host_facts) returned.
    type: dict
  snapshots:
    description: What M(tandem.campaign.snapshot_verify) returned as C(snapshots).
    type: list
    elements: dict
    default: []
  images:
    description: What M(tandem.campaign.image_verify) returned as C(images).
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Print the plans of a campaign without any host
  tandem.campaign.plan:
    campaign_id: august
    recipes: [laguna-s-2.1-nvfp4-tp2]
    gpu_roles:
      compute_a: {uuid: GPU-11111111-2222-3333-4444-555555555555}
      compute_b: {uuid: GPU-66666666-7777-8888-9999-000000000000}
    cache: {volume: vllm-hfcache}
    host_class: {wsl2: true, link: PXB}
    show: true
"""

RETURN = r"""
host:
  description: The validated declaration, as M(tandem.campaign.gpu_mode) takes it.
  returned: success
  type: dict
identity:
  description: The identity block of the host's own artifacts.
  returned: success
  type: dict
images:
  description: What M(tandem.campaign.image_verify) takes as O(tandem.campaign.image_verify#module:images).
  returned: success
  type: list
  elements: dict
patch_sets:
  description: What M(tandem.campaign.image_derive) builds, C(base), C(patch_set), C(sha256) and the C(wheels) (C(name), C(url), C(sha256)) it needs.
  returned: success
  type: list
  elements: dict
docker_socket:
  description: The Docker Engine's socket where the campaign needs one, otherwise empty.
  returned: success
  type: str
lanes:
  description:
    - One entry a recipe with C(name), C(action) (V(run), V(complete), V(refused)), C(refusal), C(recipe), C(protocols), C(contract), C(plan),
      C(identity), C(lane_key), C(snapshot), C(folder) and C(base_url).
  returned: success
  type: list
  elements: dict
to_run:
  description: Names of the lanes that have to run.
  returned: success
  type: list
  elements: str
drift:
  description: Facts that O(host_class) says otherwise than the host, as sentences.
  returned: success
  type: list
  elements: str
snapshots:
  description: What M(tandem.campaign.snapshot_verify) has to look at.
  returned: success
  type: list
  elements: dict
packet:
  description: The packet's folder on the controller.
  returned: success
  type: str
attempt:
  description: The UTC stamp that names this run's attempts.
  returned: success
  type: str
"""
