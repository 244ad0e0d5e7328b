"""A host of one's own for tests of the mode transaction: two services that are real processes, a state folder, a lock, a keeper."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.tandem.campaign.plugins.module_utils._evidence.store import read_json, write_json
from ansible_collections.tandem.campaign.plugins.module_utils._host.procfs import stop
from ansible_collections.tandem.campaign.plugins.module_utils._mode.enter import Request, enter
from ansible_collections.tandem.campaign.plugins.module_utils._mode.heal import Healed, heal, wait_released
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_start import WaitingKeeper
from ansible_collections.tandem.campaign.plugins.module_utils._mode.service import ServiceHand
from ansible_collections.tandem.campaign.plugins.module_utils._mode.services import service_hand
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import sha256_of, to_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Cache,
    Health,
    HostDeclaration,
    Mode,
    Role,
    Service,
)
from ansible_collections.tandem.campaign.plugins.module_utils.state_main import READER
from ansible_collections.tandem.campaign.plugins.plugin_utils.programs import keeper_program
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

IDENTITY = identity()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Bench:
    """A host of one's own: two services, a state folder, a lock."""

    def __init__(self, folder: Path, lease_s: float = 60.0) -> None:
        self.folder = folder
        self.state_dir = folder / "state"
        self.told: list[str] = []
        #: A copy of its own, for tests that break it.
        self.program = folder / "server.py"
        self.program.write_text((Path(__file__).parent / "engine_server.py").read_text(encoding="utf-8"))
        self.keeper = folder / "keeper.pyz"
        self.keeper.write_bytes(keeper_program())
        ports = {name: free_port() for name in ("omni", "voice")}
        services = {
            name: Service(
                "process",
                argv=(sys.executable, str(self.program), str(port), name),
                health=Health(url=f"http://127.0.0.1:{port}/", start_s=20),
                needs=("omni",) if name == "voice" else (),
                stop_s=5.0,
            )
            for name, port in ports.items()
        }
        self.host = HostDeclaration(
            {"a": Role(kind="cpu")},
            services,
            {"exclusive": Mode()},
            Cache(path="/c"),
            str(self.state_dir),
            str(folder / "lock"),
            lease_s,
            free_port(),
        )

    def declare(self, **fields: Any) -> None:
        """Changes the declaration: ``services``, ``modes``, ``gpu_roles``…"""
        self.host = replace(self.host, **fields)

    def change(self, name: str, **fields: Any) -> None:
        """Changes one service's declaration."""
        self.declare(services={**self.host.services, name: replace(self.host.services[name], **fields)})

    def port(self, name: str) -> int:
        """Where the service's health is."""
        health = self.host.services[name].health
        return urlsplit(str(health.url)).port or 0 if health else 0

    def reserve_as_declared(self) -> None:
        """Puts a changed declaration (a shorter wait, say) into the reservation, as if it had been declared so before."""
        file = self.state_dir / "reservation" / "reservation.json"
        document = {**read_json(file), "host": to_document(self.host)}
        document.pop("sum")
        write_json(file, {**document, "sum": sha256_of(document)})

    def hand(self, name: str) -> ServiceHand:
        return service_hand(self.host, name)

    def running(self) -> dict[str, bool]:
        return {name: self.hand(name).observe().running for name in self.host.services}

    def enter(self, campaign: str = "c", *, takeover: bool = False) -> list[str]:
        request = Request(campaign, self.host, IDENTITY, WaitingKeeper(self.state_dir, str(self.keeper)), takeover)
        return enter(self.state_dir, request, READER, self.told.append)[0]

    def heal(self) -> Healed:
        healed = heal(self.state_dir, "test", READER, self.told.append)
        wait_released(healed)
        return healed

    def start(self, *names: str) -> None:
        for name in names:
            self.hand(name).start({})

    def clear(self) -> None:
        if (self.state_dir / "reservation").is_dir():
            self.heal()
        for name in self.host.services:
            process = self.hand(name).observe().process
            if process:
                stop(process, 5.0)
