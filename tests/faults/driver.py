"""One process that takes a host or gives it back, and is killed at a chosen journal record: ``python driver.py JOB.json``.

The kill is in this file's own Journal; nothing that is shipped knows of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ansible_collections.tandem.campaign.plugins.module_utils._mode.enter import Request, enter
from ansible_collections.tandem.campaign.plugins.module_utils._mode.heal import StateReader, heal
from ansible_collections.tandem.campaign.plugins.module_utils._mode.journal import Journal, Kind
from ansible_collections.tandem.campaign.plugins.module_utils._mode.keeper_start import WaitingKeeper
from ansible_collections.tandem.campaign.plugins.module_utils._words.documents import from_document
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import HostDeclaration
from ansible_collections.tandem.campaign.plugins.module_utils.state_main import READER
from ansible_collections.tandem.campaign.tests.fakes.identity import identity

PAGE = 4096


def journal_that(job: dict[str, Any]) -> type[Journal]:
    """A journal whose writer dies before or after a record, or whose disk is full from one on."""

    class Faulty(Journal):
        def _fill_page(self) -> None:
            """So that the next record needs a block that the disk hasn't got."""
            super().append("note", "padding", text="")
            super().append("note", "padding", text="x" * (-(self.path.stat().st_size + 200) % PAGE))

        def append(self, record_kind: Kind, record_step: str, **data: Any) -> None:
            name = f"{record_kind} {record_step}"
            if job.get("kill") == f"before {name}":
                os.kill(os.getpid(), signal.SIGKILL)
            if job.get("fill_at") == name:
                self._fill_page()
                fill(Path(job["state_dir"]))
            super().append(record_kind, record_step, **data)
            if job.get("kill") == f"after {name}":
                os.kill(os.getpid(), signal.SIGKILL)

    return Faulty


def fill(folder: Path) -> None:
    """Until there is not a byte left on the folder's disk."""
    with (folder / "ballast").open("wb", buffering=0) as stream:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while stream.write(b"x" * size) == size:
                    continue


def reader_that(job: dict[str, Any]) -> StateReader:
    """The reader; with ``fill_at: evidence`` the disk is full once it has looked, so that what it saw can't be written."""

    def read(host: HostDeclaration) -> dict[str, Any]:
        state = READER.read(host)
        fill(Path(job["state_dir"]))
        return state

    return dataclasses.replace(READER, read=read) if job.get("fill_at") == "evidence" else READER


def main() -> int:
    """0: done. 1: refused or failed, with the message on standard output."""
    job = json.loads(Path(sys.argv[1]).read_text())
    state_dir, opener = Path(job["state_dir"]), journal_that(job)
    told: list[str] = []
    try:
        if job["act"] == "enter":
            host = from_document(HostDeclaration, job["host"])
            request = Request(job["campaign"], host, identity(), WaitingKeeper(state_dir, job["keeper"]))
            enter(state_dir, request, reader_that(job), told.append, opener)
        else:
            heal(state_dir, "driver", READER, told.append, open_journal=opener)
    except CampaignError as exc:
        sys.stdout.write("\n".join([*told, str(exc)]))
        return 1
    sys.stdout.write("\n".join(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
