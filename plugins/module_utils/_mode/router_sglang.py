# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""sglang-router 0.3: GET/POST /workers, DELETE /workers/{id}, with the control-plane key. A readmitted worker gets a new id."""

from __future__ import annotations

from .router import Asker, Worker, json_object


class SglangDialect:
    """DELETE only stops admission; requests that run go on. POST answers 202 and admits in its own time."""

    def list(self, asker: Asker) -> list[Worker]:
        document = json_object(asker.ask("GET", "/workers", "list its workers"), asker.name)
        return [
            Worker(item["id"], item["url"].rstrip("/"), bool(item.get("is_healthy")))
            for item in document.get("workers", [])
        ]

    def remove(self, asker: Asker, worker: Worker) -> None:
        asker.ask("DELETE", f"/workers/{worker.id}", f"drain {worker.url}", accepted=(200, 202, 404))

    def add(self, asker: Asker, worker_url: str) -> None:
        # Workers of the router's start inherit its key; one that is added later has to bring it.
        key = asker.worker_key()
        body = {"url": worker_url, **({"api_key": key} if key else {})}
        asker.ask("POST", "/workers", f"readmit {worker_url}", body, accepted=(200, 202))
