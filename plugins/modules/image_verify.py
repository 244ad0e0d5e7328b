#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at pinned images before anything is touched."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_verify
short_description: Prove that pinned engine images are on the host, are what they say, and get the GPUs they ask for
version_added: 0.1.0
description:
  - Reads repository digest, platform digest and image id (three values), environment, entrypoint and nccl.conf of each image.
  - Nothing is pulled and no tag counts.
  - A derived image is found by its labels and believed only for its manifest and the files inside it.
  - With C(devices) a container of the image lists the GPUs that it gets (C(nvidia-smi -L)), with no GPU memory taken, so that a Docker Engine
    that serves no GPU requests is found out before any service is stopped.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.docker
attributes:
  check_mode:
    support: full
    details: In check mode no container is made, so nccl.conf and the GPU request are left out, and a derived image is not opened.
  diff_mode:
    support: none
options:
  images:
    description: What to look at.
    type: list
    elements: dict
    required: true
    suboptions:
      image:
        description: C(repository@sha256:...), or the name of a derived image.
        type: str
        required: true
      derived:
        description: Of a derived image, its C(base), C(patch_set) and the patch set's C(sha256).
        type: dict
      devices:
        description: Ids of the device request, empty for an engine without GPUs.
        type: list
        elements: str
        default: []
      driver:
        description: Driver of the device request; empty for Docker's own choice, V(cdi) for CDI.
        type: str
        default: ""
"""

EXAMPLES = r"""
- name: Look at an image
  tandem.campaign.image_verify:
    images:
      - image: vllm/vllm-openai@sha256:e4f88a835143cd22aee2397a26ec6bb80b3a4a6fe0c882bcbc63822904766089
        devices: [GPU-11111111-2222-3333-4444-555555555555]
"""

RETURN = r"""
images:
  description:
    - One entry an image with C(image), C(id), C(index_digest), C(platform_digest), C(platform), C(environment), C(entrypoint), C(layers), C(gpu_probe),
      C(problems) (sentences, empty where the image can be used), and C(manifest) of a derived one.
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.docker import Docker
from ..module_utils._images.verify import verify_image
from ..module_utils._words.errors import CampaignError


def verify(params: dict[str, Any], *, check_mode: bool) -> list[dict[str, Any]]:
    """A report an image; an engine that doesn't answer is a problem of each."""
    docker = Docker(params["docker_socket"])
    try:
        machine = str(docker.info().get("Architecture") or "")
        return [verify_image(docker, wanted, machine, look_inside=not check_mode) for wanted in params["images"]]
    except CampaignError as exc:
        return [{"image": wanted["image"], "id": None, "problems": [str(exc)]} for wanted in params["images"]]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "docker_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "images": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "image": {"type": "str", "required": True},
                    "derived": {"type": "dict"},
                    "devices": {"type": "list", "elements": "str", "default": []},
                    "driver": {"type": "str", "default": ""},
                },
            },
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, images=verify(module.params, check_mode=module.check_mode))


if __name__ == "__main__":
    main()
