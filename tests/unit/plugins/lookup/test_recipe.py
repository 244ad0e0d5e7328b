"""The lookup through Ansible's own loader."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleLookupError
from ansible.plugins.loader import lookup_loader


def test_a_recipe_with_its_defaults() -> None:
    (recipe,) = lookup_loader.get("tandem.campaign.recipe").run(["laguna-s-2.1-nvfp4-tp2"], {})
    assert recipe["model"]["revision"] == "07614121b31898586430f189d27a25a0be310843"
    assert recipe["limits"]["max_requests"] == 1


def test_an_unknown_name() -> None:
    with pytest.raises(AnsibleLookupError, match="no recipe 'nope'"):
        lookup_loader.get("tandem.campaign.recipe").run(["nope"], {})
