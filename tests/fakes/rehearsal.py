"""A recipe's gates against a played engine in this process: the same gate code as in the field, other data."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import read_json
from ansible_collections.tandem.campaign.plugins.module_utils._gates.runner import LaneGates
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.module_utils._words.suite import suite_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.verdict import ProfileResult
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_protocol, read_set
from ansible_collections.tandem.campaign.tests.fakes.identity import identity
from ansible_collections.tandem.campaign.tests.fakes.played.behaviour import Behaviour
from ansible_collections.tandem.campaign.tests.fakes.played.pages import Started
from ansible_collections.tandem.campaign.tests.fakes.played.server import Engine, serve

BEHAVIOURS = Path(__file__).resolve().parents[2] / "playbooks" / "behaviours"
SEEDS: dict[str, Recipe] = {
    recipe.name: recipe for recipe in read_set(COLLECTION_RECIPES / "dual-rtx-pro-6000-tp2.toml").recipe
}


@contextmanager
def playing(behaviour: Behaviour, context_tokens: int = 32768, admission: int = 1) -> Iterator[str]:
    """The base URL of a played engine that serves ``admission`` requests at a time."""
    server = serve(
        Engine(behaviour, Started({"context": str(context_tokens), "admission": str(admission)})), "127.0.0.1", 0
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def rehearse(recipe: Recipe, behaviour: Behaviour, folder: Path) -> tuple[tuple[ProfileResult, ...], str | None]:
    """All gates of the recipe. The artifacts lie in ``folder``."""
    protocols: dict[str, dict[str, Any]] = {
        name: found.document for name in recipe.protocols() if (found := read_protocol(name)) is not None
    }
    with playing(behaviour, recipe.limits.context_tokens) as url:
        lane = LaneGates(
            suite_of(recipe), protocols, url, folder, identity(), "seed", lambda *_a, **_k: None, lambda _since: []
        )
        return lane.run()


def artifact(folder: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = read_json(folder / f"{name}.json")
    return document
