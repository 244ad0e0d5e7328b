"""sglang-router's interface: it drains, readmits, proves, and fails closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode import routers
from ansible_collections.tandem.campaign.plugins.module_utils._mode.routers import router_for
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError, RefusedError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import Admission
from ansible_collections.tandem.campaign.tests.fakes.server import Scripted, completion, scripted


class FakeRouter:
    """/workers as sglang-router 0.3.2 answers it; one server plays router and worker."""

    def __init__(self) -> None:
        self.workers: dict[str, dict[str, Any]] = {}
        self.status: int | None = None
        self.model = "m"
        self.healthy = True
        self.running = 0

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/metrics":
            self.running -= 1
            return 200, f"llamacpp:requests_processing {max(0, self.running)}\n".encode()
        if self.status:
            return self.status, {"error": "no"}
        if path == "/v1/models":
            return 200, {"data": [{"id": "m"}]}
        if path == "/v1/chat/completions":
            return 200, {**completion("ok", stream=False), "model": self.model}
        if method == "POST":
            self.workers[body["url"]] = {
                "id": f"id-{len(self.workers)}",
                "url": body["url"],
                "is_healthy": self.healthy,
            }
            return 202, {"status": "accepted"}
        if method == "DELETE":
            self.workers = {
                url: worker for url, worker in self.workers.items() if worker["id"] != path.rsplit("/", 1)[1]
            }
            return 202, {}
        return 200, {"workers": list(self.workers.values())}


@pytest.fixture
def fake() -> FakeRouter:
    return FakeRouter()


@pytest.fixture
def server(fake: FakeRouter) -> Iterator[Scripted]:
    with scripted(fake) as running:
        fake.workers = {running.url: {"id": "id-x", "url": f"{running.url}/", "is_healthy": True}}
        yield running


def router(server: Scripted, drain_s: float = 5.0) -> Any:
    return router_for("router", Admission("sglang", server.url, drain_s=drain_s))


def test_drain_and_readmit(server: Scripted, fake: FakeRouter) -> None:
    one = router(server)
    assert one.drain(server.url) is True
    assert fake.workers == {}
    assert one.drain(server.url) is False
    assert one.readmit(server.url) is True
    assert one.readmit(server.url) is False
    assert one.prove(server.url) == "m"


def test_draining_waits_for_running_requests(server: Scripted, fake: FakeRouter) -> None:
    fake.running = 4
    router(server).drain(server.url)
    assert fake.running <= 0


def test_a_request_that_never_ends_is_a_fault(server: Scripted, fake: FakeRouter) -> None:
    fake.running = 10**6
    with pytest.raises(CampaignError, match=r"still serves requests 0\.3 s after it was drained"):
        router(server, drain_s=0.3).drain(server.url)


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_it_fails_closed(server: Scripted, fake: FakeRouter, status: int) -> None:
    fake.status = status
    for act in ("workers", "drain", "readmit", "prove"):
        with pytest.raises(CampaignError, match=f"HTTP {status}"):
            getattr(router(server), act)(*([] if act == "workers" else [server.url]))


def test_nobody_there_fails_closed() -> None:
    with pytest.raises(CampaignError, match="can't list its workers"):
        router_for("router", Admission("sglang", "http://127.0.0.1:1")).workers()


def test_a_worker_that_stays_unhealthy(server: Scripted, fake: FakeRouter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routers, "READMIT_S", 0.3)
    fake.workers, fake.healthy = {}, False
    with pytest.raises(CampaignError, match=r"is not healthy there 0\.3 s after its readmission"):
        router(server).readmit(server.url)


def test_another_model_answers(server: Scripted, fake: FakeRouter) -> None:
    fake.model = "other"
    with pytest.raises(CampaignError, match="asked for 'm', 'other' answered"):
        router(server).prove(server.url)


def test_what_is_not_built_is_refused_by_name() -> None:
    with pytest.raises(RefusedError, match=r"admission\.api 'vllm' is not built in this version"):
        router_for("router", Admission("vllm", "http://127.0.0.1:1"))
