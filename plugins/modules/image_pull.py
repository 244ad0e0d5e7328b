#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pulls pinned images, as a step of its own."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_pull
short_description: Pull pinned engine images by digest
version_added: 0.1.0
description:
  - Pulls what is not there yet. It is a step of its own, so that no start ever waits for a registry.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.docker
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  images:
    description: Images as C(repository@sha256:...). A registry that asks for a login needs C(docker login) and C(docker pull) by hand.
    type: list
    elements: str
    required: true
  progress:
    description: File for progress lines; set by the action plugin.
    type: path
"""

EXAMPLES = r"""
- name: Pull an engine
  tandem.campaign.image_pull:
    images:
      - vllm/vllm-openai@sha256:e4f88a835143cd22aee2397a26ec6bb80b3a4a6fe0c882bcbc63822904766089
"""

RETURN = r"""
pulled:
  description: The images that were pulled, or would be.
  returned: success
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._evidence.progress import Progress
from ..module_utils._host.docker import Docker
from ..module_utils._images.store import inspect_image, pull
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.recipe import DIGEST_IMAGE


def pull_missing(params: dict[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """What is missing, pulled unless in check mode."""
    unpinned = [image for image in params["images"] if not DIGEST_IMAGE.fullmatch(image)]
    if unpinned:
        raise CampaignError(f"{unpinned[0]!r} is not pinned: repository@sha256:<64 hex> is needed, a tag moves")
    docker, progress = Docker(params["docker_socket"]), Progress(params["progress"])
    missing = [image for image in dict.fromkeys(params["images"]) if inspect_image(docker, image) is None]
    for image in [] if check_mode else missing:
        pull(docker, image, lambda text: progress.tell("pull", text))
    diff = {"before": "", "after": "".join(f"{image}\n" for image in missing)}
    return {"changed": bool(missing), "pulled": missing, "diff": diff}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "docker_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "images": {"type": "list", "elements": "str", "required": True},
            "progress": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**pull_missing(module.params, check_mode=module.check_mode))
    except CampaignError as exc:
        module.fail_json(**exc.as_result())


if __name__ == "__main__":
    main()
