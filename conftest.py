"""Shows this checkout to pytest as the collection tandem.campaign."""

from __future__ import annotations

import os
from pathlib import Path

COLLECTIONS = Path(__file__).parent / "collections"
LINK = COLLECTIONS / "ansible_collections" / "tandem" / "campaign"

# ansible-test sets its own path, and then finds the collection by itself.
if os.environ.setdefault("ANSIBLE_COLLECTIONS_PATH", str(COLLECTIONS)) == str(COLLECTIONS):
    LINK.parent.mkdir(parents=True, exist_ok=True)
    if not LINK.is_symlink():
        LINK.symlink_to("../../..", target_is_directory=True)

    from ansible.plugins.loader import init_plugin_loader

    init_plugin_loader()
