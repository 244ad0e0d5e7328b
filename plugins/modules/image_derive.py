#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a derived image from a pinned base and a patch set."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_derive
short_description: Build an engine image from a pinned base and a guarded patch set
version_added: 0.1.0
description:
  - Edits files of the base, each guarded by its sha256, and adds wheels that are pinned by theirs. A guard that does not hold fails and names the file.
  - Works in a container that is never started; the patched Python files are compiled with the image's own Python afterwards. A manifest lies inside the
    image, its labels name base and patch set. An image of the same base and patch set is checked and kept.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.docker
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  base:
    description: The base as C(repository@sha256:...), already on the host.
    type: str
    required: true
  patch_set:
    description: The patch set's content, as RV(tandem.campaign.plan#module:patch_sets) holds it.
    type: dict
    required: true
  sha256:
    description: The patch set's hash.
    type: str
    required: true
  wheels:
    description: Name of a wheel in the patch set to its file on the host.
    type: dict
    default: {}
  progress:
    description: File for progress lines; set by the action plugin.
    type: path
"""

EXAMPLES = r"""
- name: Build what the plan asks for
  tandem.campaign.image_derive:
    base: "{{ wanted.base }}"
    patch_set: "{{ wanted.patch_set }}"
    sha256: "{{ wanted.sha256 }}"
"""

RETURN = r"""
id:
  description: The image's id, which no other machine has; null in check mode where it would be built.
  returned: success
  type: str
manifest:
  description: Base, patch set and every changed file with its sha256 before and after.
  returned: success
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._evidence.progress import Progress
from ..module_utils._host.docker import Docker
from ..module_utils._images.derive import derive_image
from ..module_utils._images.derived import find_derived
from ..module_utils._words.documents import from_document
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.patch import PatchSet


def derive(params: dict[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Builds, or says whether it would."""
    docker, progress = Docker(params["docker_socket"]), Progress(params["progress"])
    patch_set = from_document(PatchSet, params["patch_set"])
    if check_mode:
        wanted = {"base": params["base"], "patch_set": patch_set.name, "sha256": params["sha256"]}
        found = find_derived(docker, wanted, patch_set.name, look_inside=False)
        return {"changed": bool(found["problems"]), "id": found["id"], "manifest": None}
    report = derive_image(
        docker,
        params["base"],
        patch_set,
        params["sha256"],
        params["wheels"],
        lambda text: progress.tell("derive", text),
    )
    return {"changed": report["changed"], "id": report["id"], "manifest": report["manifest"]}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "docker_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "base": {"type": "str", "required": True},
            "patch_set": {"type": "dict", "required": True},
            "sha256": {"type": "str", "required": True},
            "wheels": {"type": "dict", "default": {}},
            "progress": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**derive(module.params, check_mode=module.check_mode))
    except CampaignError as exc:
        module.fail_json(**exc.as_result())


if __name__ == "__main__":
    main()
