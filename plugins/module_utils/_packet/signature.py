# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest signed with the owner's own SSH key (``ssh-keygen -Y``, OpenSSH 8.2 or newer): made and verified offline, by a tool that is there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .._words.errors import CampaignError
from .folder import MANIFEST, SIGNATURE

#: What is signed is a packet's manifest, and no other kind of file: a signature made for something else doesn't count.
NAMESPACE = "packet@tandem.campaign"
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
LIMIT_S = 30.0


def sign_manifest(folder: Path, key: Path) -> None:
    """Writes ``manifest.json.sig``. ``key``: a private key's file, or the public half of one that the agent holds."""
    manifest, signature = folder / MANIFEST, folder / SIGNATURE
    signature.unlink(missing_ok=True)
    _keygen(
        ["-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(manifest)], None, f"{manifest} can't be signed with {key}"
    )


def signed_by(folder: Path) -> str | None:
    """The fingerprint of the key that signed the manifest as it lies here; None where nothing is signed. Raises where it doesn't hold."""
    if not (folder / SIGNATURE).is_file():
        return None
    arguments = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(folder / SIGNATURE)]
    said = _keygen(arguments, (folder / MANIFEST).read_bytes(), f"{SIGNATURE} does not hold for this {MANIFEST}")
    found = FINGERPRINT.search(said)
    return found[0] if found else "a key that ssh-keygen does not name"


def verify_signer(folder: Path, signers: Path, signer: str) -> None:
    """``signers``: a file of allowed signers (see ssh-keygen(1)); ``signer``: who of them has to have signed."""
    if not (folder / SIGNATURE).is_file():
        raise CampaignError(f"{folder} is not signed, and {signer} was to have signed it")
    arguments = ["-Y", "verify", "-n", NAMESPACE, "-f", str(signers), "-I", signer, "-s", str(folder / SIGNATURE)]
    _keygen(arguments, (folder / MANIFEST).read_bytes(), f"{SIGNATURE} is not {signer}'s by {signers}")


def _keygen(arguments: Sequence[str], data: bytes | None, trouble: str) -> str:
    try:
        answer = subprocess.run(
            ["ssh-keygen", *arguments], input=data or b"", capture_output=True, timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise CampaignError(f"{trouble}: ssh-keygen: {exc}") from exc
    said = (answer.stdout + answer.stderr).decode("utf-8", "replace").strip()
    if answer.returncode:
        raise CampaignError(f"{trouble}: {said[:300] or 'ssh-keygen says nothing'}")
    return said
