# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image beside what a recipe pins: three values that are easily taken for one another, its environment, its entrypoint. Pure.

The repository digest is the index's (what a recipe pins and a pull asks for), the platform digest that of one manifest in it, the image id
a third one, local to the engine's store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._engine.container_check import SHOWN, environment_of
from .._words.text import plain

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
#: nccl.conf sets what the environment does not (NCCL documentation, configuration files); the first that exists is the system's.
NCCL_FILES = ("/etc/nccl.conf", "/root/.nccl.conf")


def image_report(
    reference: str, document: Mapping[str, Any] | None, listing: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """``{image, id, index_digest, platform_digest, platform, environment, entrypoint, problems…}``; ``problems`` are sentences.

    ``listing`` are the engine's images, to say what is there under the same name instead. Nothing matches by tag.
    """
    report: dict[str, Any] = {"image": reference, "id": None, "problems": []}
    if document is None:
        return {**report, "problems": [_absent(reference, listing)]}
    digest = reference.partition("@")[2]
    report |= {**described(document), "index_digest": digest, "platform_digest": _platform_digest(document)}
    known = report["repo_digests"]
    if not any(item.endswith(f"@{digest}") for item in known):
        report["problems"] = [
            f"image {reference}: the engine knows it by {', '.join(known) or 'no repository digest'} only"
        ]
    return report


def described(document: Mapping[str, Any]) -> dict[str, Any]:
    """What inspect says of an image, with values of such variables only as may matter; an image may carry a secret."""
    config = document.get("Config") or {}
    environment = environment_of(config)
    return {
        "id": document["Id"],
        "platform": f"{document.get('Os')}/{document.get('Architecture')}",
        "repo_digests": [str(item) for item in document.get("RepoDigests") or []],
        "environment": {name: value for name, value in environment.items() if name.startswith(SHOWN)},
        "other_variables": sorted(name for name in environment if not name.startswith(SHOWN)),
        "entrypoint": list(config.get("Entrypoint") or []),
        "command": list(config.get("Cmd") or []),
        "user": config.get("User") or None,
        "created": document.get("Created"),
        "size": document.get("Size"),
        "layers": list((document.get("RootFS") or {}).get("Layers") or []),
    }


def _absent(reference: str, listing: Iterable[Mapping[str, Any]]) -> str:
    repository, _at, digest = reference.partition("@")
    others = [
        f"{tag} is there with {', '.join(name.partition('@')[2] for name in item.get('RepoDigests') or []) or 'no digest'}"
        for item in listing
        for tag in item.get("RepoTags") or []
        if tag.rpartition(":")[0] == repository
    ]
    text = f"image {repository}@{digest} is not on this host" + (
        f" ({plain('; '.join(others), 300)}, which is another image)" if others else ""
    )
    return f"{text}. Nothing is pulled inside a start; fetch it before: ansible-playbook tandem.campaign.images -l <this host>"


def _platform_digest(document: Mapping[str, Any]) -> str | None:
    """Of the manifest for this platform, where the engine's store keeps it (containerd's does, from API 1.48 on)."""
    for manifest in document.get("Manifests") or []:
        platform = ((manifest.get("ImageData") or {}).get("Platform") or {}).get("architecture")
        if manifest.get("Available") and platform == document.get("Architecture"):
            return str(manifest.get("ID"))
    return None


def platform_problem(report: Mapping[str, Any], machine: str) -> str | None:
    """An image for another processor would be emulated, or not start at all."""
    found, wanted = str(report["platform"]), f"linux/{MACHINES.get(machine, machine)}"
    return None if found == wanted else f"image {report['image']} is for {found}, the engine's machine is {wanted}"


def nccl_settings(text: str) -> dict[str, str]:
    """What an nccl.conf sets."""
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return {
        name.strip(): value.strip() for name, separator, value in (line.partition("=") for line in lines) if separator
    }


def repeated_entrypoint(entrypoint: Sequence[str], argv: Sequence[str]) -> str | None:
    """The words of the image's entrypoint that stand twice at the start of a command, or None.

    Docker appends a command to an entrypoint; a recipe that writes both gives the engine its own name and verb as arguments.
    """
    count = len(entrypoint)
    if not count:
        return None
    head = list(argv[:count])
    for start in range(count):
        repeated = list(entrypoint[start:])
        if head == list(entrypoint) and list(argv[count : count + len(repeated)]) == repeated:
            return " ".join(repeated)
    return None
