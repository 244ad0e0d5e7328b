# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm-router 0.1: /list_workers, /add_worker, /remove_worker. Its admission interface is open to everyone who reaches it."""

from __future__ import annotations

from urllib.parse import quote

from .router import READMIT_S, Asker, Worker, json_object


class VllmDialect:
    """It lists healthy workers only, and its add blocks until the worker is healthy. No key protects any of it: bind it to loopback."""

    def list(self, asker: Asker) -> list[Worker]:
        document = json_object(asker.ask("GET", "/list_workers", "list its workers"), asker.name)
        return [Worker(url, url.rstrip("/"), True) for url in document.get("urls", [])]

    def remove(self, asker: Asker, worker: Worker) -> None:
        # It answers 200 for an unknown worker too; the listing afterwards is what counts.
        asker.ask("POST", f"/remove_worker?url={quote(worker.id, safe='')}", f"drain {worker.url}")

    def add(self, asker: Asker, worker_url: str) -> None:
        # 400 is its answer to one that is there already.
        what = f"readmit {worker_url}"
        asker.ask(
            "POST", f"/add_worker?url={quote(worker_url, safe='')}", what, accepted=(200, 400), timeout_s=READMIT_S
        )
