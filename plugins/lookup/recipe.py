# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks up pinned recipes by name."""

from __future__ import annotations

DOCUMENTATION = r"""
name: recipe
short_description: A validated recipe by its name
version_added: 0.1.0
author:
  - The tandem.campaign team (@tandem-campaign)
description:
  - Finds recipes in C(campaign_recipe_paths), in C(recipes/) beside the inventory and in the collection, and validates every set on the way.
  - Refuses unknown keys, branches and short hashes, tags instead of digests, host indexes, secrets, contract variables and duplicate names;
    an error names file, recipe, key and way out.
options:
  _terms:
    description: Names of recipes.
    type: list
    elements: str
    required: true
  paths:
    description: Folders that are searched first.
    type: list
    elements: str
    default: []
    vars:
      - name: campaign_recipe_paths
"""

EXAMPLES = r"""
- name: Show the revision that a recipe pins
  ansible.builtin.debug:
    msg: "{{ lookup('tandem.campaign.recipe', 'laguna-s-2.1-nvfp4-tp2').model.revision }}"
"""

RETURN = r"""
_raw:
  description: One dictionary a recipe, in the shape of C([[recipe]]) with every default filled in.
  type: list
  elements: dict
"""

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils._words.documents import to_document
from ..module_utils._words.errors import CampaignError
from ..plugin_utils.recipes import read_recipes, recipe_named, search_path


class LookupModule(LookupBase):
    """``lookup('tandem.campaign.recipe', name)``."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        self.set_options(var_options=variables, direct=kwargs)
        try:
            folders = search_path(self.get_option("paths"), (variables or {}).get("inventory_dir"))
            recipes = read_recipes(folders)
            return [to_document(recipe_named(term, recipes, folders).recipe) for term in terms]
        except CampaignError as exc:
            raise AnsibleLookupError(str(exc)) from exc
