#!/usr/bin/python
# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves model snapshots complete and byte-exact, offline."""

from __future__ import annotations

DOCUMENTATION = r"""
module: snapshot_verify
short_description: Prove pinned model snapshots complete and byte-exact, offline
version_added: 0.1.0
description:
  - Verifies snapshots of a Hugging Face hub cache by exact revision, without any network.
  - Collects every problem (missing and cut files, dangling and escaping links, wrong content, a broken index, side files of another snapshot,
    a download in progress) before it judges.
  - An unchanged snapshot is not read again where O(receipts) says that it was proven before; whatever has moved since is.
author:
  - The tandem.campaign team (@tandem-campaign)
extends_documentation_fragment:
  - tandem.campaign.attributes
  - tandem.campaign.docker
attributes:
  check_mode:
    support: full
    details: In check mode no container is started, so a snapshot in a volume is not read.
  diff_mode:
    support: none
options:
  cache:
    description: The hub folder (the one that holds C(models--ORG--NAME)).
    type: path
  volume:
    description: The Docker volume that holds the hub instead. It is read by a container of the lane's image without GPU and network, which mounts it read-only.
    type: str
  hub:
    description: The hub's folder inside O(volume), empty for its root.
    type: str
    default: ""
  images:
    description: What M(tandem.campaign.image_verify) returned, for the ids of the images that read O(volume).
    type: list
    elements: dict
    default: []
  verifier:
    description: The program that reads O(volume), already on the host; set by the action plugin.
    type: path
  snapshots:
    description: What to verify.
    type: list
    elements: dict
    required: true
    suboptions:
      repo:
        description: The repository, C(ORG/NAME).
        type: str
        required: true
      revision:
        description: The full commit, 40 hex digits.
        type: str
        required: true
      file:
        description: A file that must be there (the weights of a GGUF repository).
        type: str
      required_files:
        description: Files beside the weights that the recipe can't do without, like C(hf_quant_config.json).
        type: list
        elements: str
        default: []
      sha256:
        description: File name to hex digest, for caches without links, whose files no name tells the hash of.
        type: dict
        default: {}
      remote_code:
        description: Whether the engine runs Python files of the repository, which must then be in this snapshot too.
        type: bool
        default: false
      image:
        description: The image whose Python reads O(volume).
        type: str
  depth:
    description:
      - V(structure) checks layout, links, headers against sizes and index, side files, the hub's own listing where its client has kept one.
      - V(hash) also compares every file's content with what names it.
    type: str
    choices: [structure, hash]
    default: hash
  receipts:
    description: The folder of earlier proofs (size, mtime, ctime, inode, link of each file), read and written. Without it everything is read.
    type: path
  reverify:
    description: Reads everything again, whatever O(receipts) says, as bits that decay move no stamp.
    type: bool
    default: false
  fail_on_problems:
    description: Whether a snapshot with problems fails the task. With V(false) they are only returned.
    type: bool
    default: true
  progress:
    description: File for progress lines; set by the action plugin.
    type: path
"""

EXAMPLES = r"""
- name: Verify one snapshot by content
  tandem.campaign.snapshot_verify:
    cache: /srv/hf/hub
    snapshots:
      - repo: poolside/Laguna-S-2.1-NVFP4
        revision: 07614121b31898586430f189d27a25a0be310843
"""

RETURN = r"""
snapshots:
  description:
    - One entry a snapshot, with C(repo), C(revision), C(depth), C(bytes), C(files) (name, size, hash), C(problems) (file, expected, found),
      C(caveats), C(seconds), C(verified_at) (Unix time of the reading), C(reused) (files that an earlier proof vouched for), and C(proof), a hash
      over all names, sizes and hashes, null where there are problems.
  returned: success
  type: list
  elements: dict
"""

import contextlib
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._cache.receipt import Receipt
from ..module_utils._cache.receipts import keep_receipt, read_receipt
from ..module_utils._cache.report import Tell, snapshot_report, unread_report
from ..module_utils._evidence.progress import Progress
from ..module_utils._host.docker import Docker
from ..module_utils._images.volume import verify_in_volume
from ..module_utils._words.errors import CampaignError
from ..module_utils._words.host import Cache


def verify_all(params: dict[str, Any], *, check_mode: bool) -> list[dict[str, Any]]:
    """A report a snapshot."""
    progress = Progress(params["progress"])

    def tell(text: str, done: int, total: int) -> None:
        progress.tell("verify", text, done=done, total=total)

    return [_verify(params, wanted, tell, check_mode=check_mode) for wanted in params["snapshots"]]


def _verify(params: dict[str, Any], wanted: dict[str, Any], tell: Tell, *, check_mode: bool) -> dict[str, Any]:
    """One report, with its receipt read before and kept after."""
    folder = Path(params["receipts"]) if params["receipts"] else None
    place = params["cache"] or f"volume {params['volume']}"
    receipt = read_receipt(folder, place, wanted) if folder and not params["reverify"] else None
    if params["cache"]:
        report = snapshot_report(Path(params["cache"]), wanted, params["depth"], tell, receipt)
    else:
        report = _in_volume(params, wanted, tell, receipt, check_mode=check_mode)
    made = report.pop("receipt")
    if folder and made and not check_mode:
        with contextlib.suppress(CampaignError):  # a full disk costs the next reading, not this proof
            keep_receipt(folder, place, wanted, made)
    return report


def _in_volume(
    params: dict[str, Any], wanted: dict[str, Any], tell: Tell, receipt: Receipt | None, *, check_mode: bool
) -> dict[str, Any]:
    image = next((item["id"] for item in params["images"] if item["image"] == wanted["image"]), None)
    if check_mode:
        text = "a snapshot in a volume is read by a container, and check mode starts none"
        return unread_report(wanted, text, fault=False)
    if image is None:
        return unread_report(
            wanted, f"a snapshot in a volume is read with the lane's image, and {wanted['image']} is not usable here"
        )
    cache, docker = Cache(volume=params["volume"], hub=params["hub"]), Docker(params["docker_socket"])
    return verify_in_volume(docker, cache, image, Path(params["verifier"]), wanted, params["depth"], tell, receipt)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cache": {"type": "path"},
            "volume": {"type": "str"},
            "hub": {"type": "str", "default": ""},
            "docker_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "images": {"type": "list", "elements": "dict", "default": []},
            "verifier": {"type": "path"},
            "snapshots": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "repo": {"type": "str", "required": True},
                    "revision": {"type": "str", "required": True},
                    "file": {"type": "str"},
                    "required_files": {"type": "list", "elements": "str", "default": []},
                    "sha256": {"type": "dict", "default": {}},
                    "remote_code": {"type": "bool", "default": False},
                    "image": {"type": "str"},
                },
            },
            "depth": {"type": "str", "choices": ["structure", "hash"], "default": "hash"},
            "receipts": {"type": "path"},
            "reverify": {"type": "bool", "default": False},
            "fail_on_problems": {"type": "bool", "default": True},
            "progress": {"type": "path"},
        },
        mutually_exclusive=[("cache", "volume")],
        required_one_of=[("cache", "volume")],
        supports_check_mode=True,
    )
    reports = verify_all(module.params, check_mode=module.check_mode)
    texts = [f"{report['repo']}: {text}" for report in reports for text in report["texts"]]
    if texts and module.params["fail_on_problems"]:
        where = module.params["cache"] or f"volume {module.params['volume']}"
        module.fail_json(msg=f"{len(texts)} problems in {where}: " + "; ".join(texts[:5]), snapshots=reports)
    module.exit_json(changed=False, snapshots=reports)


if __name__ == "__main__":
    main()
