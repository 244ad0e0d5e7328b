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
  - Collects every problem (missing and cut files, dangling and escaping links, wrong content, a broken index) before it judges.
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
  cache:
    description: The hub folder (the one that holds C(models--ORG--NAME)).
    type: path
    required: true
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
  depth:
    description: V(structure) checks layout, headers and sizes; V(hash) also recomputes every blob's content hash.
    type: str
    choices: [structure, hash]
    default: hash
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
      C(caveats), C(seconds), and C(proof), a hash over all of it, null where there are problems.
  returned: success
  type: list
  elements: dict
"""

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._cache.layout import Problem
from ..module_utils._cache.verify import verify_snapshot
from ..module_utils._evidence.progress import Progress
from ..module_utils._words.documents import to_document

TELL_S = 1.0


def verify(hub: Path, wanted: dict[str, Any], depth: str, progress: Progress) -> dict[str, Any]:
    """One snapshot's report as plain JSON."""
    start = time.monotonic()
    told = [0.0]

    def tell(done: int, total: int) -> None:
        elapsed = time.monotonic() - start
        if elapsed - told[0] >= TELL_S or done == total:
            told[0] = elapsed
            rate = done / elapsed / 1e9 if elapsed else 0
            progress.tell(
                "verify",
                f"{wanted['repo']}: {done / 1e9:.2f} of {total / 1e9:.2f} GB, {rate:.2f} GB/s",
                done=done,
                total=total,
            )

    report = verify_snapshot(hub, wanted["repo"], wanted["revision"], "hash" if depth == "hash" else "structure", tell)
    document: dict[str, Any] = to_document(report)
    file = wanted.get("file")
    if file and not document["problems"] and file not in [name for name, _size, _digest in report.files]:
        document["problems"].append(
            to_document(Problem(file, "the recipe's weight file", "no such file in the snapshot"))
        )
        document["proof"] = None
    document["texts"] = [str(problem) for problem in report.problems] or [
        f"{item['file']}: expected {item['expected']}, found {item['found']}" for item in document["problems"]
    ]
    return {**document, "seconds": round(time.monotonic() - start, 3)}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cache": {"type": "path", "required": True},
            "snapshots": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "repo": {"type": "str", "required": True},
                    "revision": {"type": "str", "required": True},
                    "file": {"type": "str"},
                },
            },
            "depth": {"type": "str", "choices": ["structure", "hash"], "default": "hash"},
            "fail_on_problems": {"type": "bool", "default": True},
            "progress": {"type": "path"},
        },
        supports_check_mode=True,
    )
    progress = Progress(module.params["progress"])
    hub = Path(module.params["cache"])
    reports = [verify(hub, wanted, module.params["depth"], progress) for wanted in module.params["snapshots"]]
    texts = [f"{report['repo']}: {text}" for report in reports for text in report["texts"]]
    if texts and module.params["fail_on_problems"]:
        module.fail_json(msg=f"{len(texts)} problems in {hub}: " + "; ".join(texts[:5]), snapshots=reports)
    module.exit_json(changed=False, snapshots=reports)


if __name__ == "__main__":
    main()
