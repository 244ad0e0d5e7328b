"""Routers' interfaces against a scripted one: they drain, readmit, prove, and fail closed. The real ones are in tests/integration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._mode import proof, router
from ansible_collections.tandem.campaign.plugins.module_utils._mode.proof import prove_admitted, prove_closed
from ansible_collections.tandem.campaign.plugins.module_utils._mode.router import Router
from ansible_collections.tandem.campaign.plugins.module_utils._mode.routers import router_of
from ansible_collections.tandem.campaign.plugins.module_utils._words.errors import CampaignError
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import (
    Admission,
    Cache,
    HostDeclaration,
    HttpCall,
    HttpRouter,
    Role,
    Service,
)
from ansible_collections.tandem.campaign.tests.fakes.server import Scripted, completion, scripted

HTTP = HttpRouter(
    list=HttpCall("/backends", "GET"),
    workers_at="backends.*.address",
    drain=HttpCall("/backends/remove", "POST", {"address": "{url}"}),
    readmit=HttpCall("/backends/add?at={url}", "PUT"),
)


class FakeRouter:
    """Answers as sglang-router 0.3.2, vllm-router 0.1.17 and a gateway of one's own do; one server plays router and worker."""

    def __init__(self) -> None:
        self.workers: dict[str, dict[str, Any]] = {}
        self.status: int | None = None
        self.model = "m"
        self.healthy = True
        self.running = 0
        self.served = 0
        self.counts = True
        self.counting = True

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/metrics":
            self.running -= 1
            counter = f"llamacpp:n_decode_total {self.served}\n" if self.counts else ""
            return 200, f"llamacpp:requests_processing {max(0, self.running)}\n{counter}".encode()
        if self.status:
            return self.status, {"error": "no"}
        if path == "/v1/models":
            return 200, {"data": [{"id": "m"}]}
        if path == "/v1/chat/completions":
            self.served += self.counting
            return 200, {**completion("ok", stream=False), "model": self.model}
        return self._admin(method, path, body)

    def _admin(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        fields = body or {}
        url = str(unquote(path.partition("=")[2]) or fields.get("url") or fields.get("address"))
        if path.startswith(("/add_worker", "/backends/add")) or (method == "POST" and path == "/workers"):
            self.workers[url] = {"id": f"id-{len(self.workers)}", "url": url, "is_healthy": self.healthy}
            return (202 if path == "/workers" else 200), {"status": "accepted"}
        if method == "DELETE":
            url = next(url for url, worker in self.workers.items() if worker["id"] == path.rsplit("/", 1)[1])
        if method == "DELETE" or path.startswith(("/remove_worker", "/backends/remove")):
            self.workers.pop(url)
            return 202 if method == "DELETE" else 200, {}
        if path == "/list_workers":
            return 200, {"urls": list(self.workers)}
        if path == "/backends":
            return 200, {"backends": [{"address": url} for url in self.workers]}
        return 200, {"workers": list(self.workers.values())}


@pytest.fixture
def fake() -> FakeRouter:
    return FakeRouter()


@pytest.fixture
def server(fake: FakeRouter) -> Iterator[Scripted]:
    with scripted(fake) as running:
        fake.workers = {running.url: {"id": "id-x", "url": f"{running.url}/", "is_healthy": True}}
        yield running


def router_at(url: str, **options: Any) -> Router:
    options = {"api": "sglang", "drain_s": 5.0, **options}
    admission = Admission(url=url, http=HTTP if options["api"] == "http" else None, **options)
    services = {"router": Service("process", argv=("/bin/x",), admission=admission)}
    host = HostDeclaration({"a": Role(kind="cpu")}, services, {}, Cache(path="/c"), "/s", "/l", 60.0, 1)
    return router_of(host, "router")


@pytest.mark.parametrize("api", ["sglang", "vllm", "http"])
def test_drain_and_readmit(server: Scripted, fake: FakeRouter, api: str) -> None:
    one = router_at(server.url, api=api)
    assert one.drain(server.url) == "drained"
    assert fake.workers == {}
    assert one.drain(server.url) == "was not admitted"
    assert one.readmit(server.url) is True
    assert one.readmit(server.url) is False
    assert prove_admitted(one, server.url) == "m answered, and the engine's own counter rose"


def test_draining_waits_for_running_requests(server: Scripted, fake: FakeRouter) -> None:
    fake.running = 4
    assert router_at(server.url).drain(server.url) == "drained"
    assert fake.running <= 0


def test_a_request_that_outlives_the_drain_is_cut_off_and_counted(server: Scripted, fake: FakeRouter) -> None:
    """Case I15: it waits for the bound, goes on, and says how many were cut."""
    fake.running = 10**6
    outcome = router_at(server.url, drain_s=0.3).drain(server.url)
    assert "running requests of" in outcome
    assert outcome.endswith("in flight after 0.3 s of drain, cut off")


def test_it_may_be_refused_instead(server: Scripted, fake: FakeRouter) -> None:
    fake.running = 10**6
    with pytest.raises(CampaignError, match=r"in flight after 0\.3 s of drain \(when_drain_ends: refuse\)"):
        router_at(server.url, drain_s=0.3, when_drain_ends="refuse").drain(server.url)


@pytest.mark.parametrize("api", ["sglang", "vllm", "http"])
@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_it_fails_closed(server: Scripted, fake: FakeRouter, status: int, api: str) -> None:
    fake.status = status
    one = router_at(server.url, api=api)
    for act in (one.workers, lambda: one.drain(server.url), lambda: one.readmit(server.url)):
        with pytest.raises(CampaignError, match=f"HTTP {status}"):
            act()
    with pytest.raises(CampaignError, match=f"HTTP {status}"):
        prove_admitted(one, server.url)


def test_nobody_there_fails_closed() -> None:
    with pytest.raises(CampaignError, match="can't list its workers"):
        router_at("http://127.0.0.1:1").workers()


def test_a_worker_that_stays_unhealthy(server: Scripted, fake: FakeRouter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "READMIT_S", 0.3)
    fake.workers, fake.healthy = {}, False
    with pytest.raises(CampaignError, match=r"is not healthy there 0\.3 s after its readmission"):
        router_at(server.url).readmit(server.url)


def test_another_model_answers(server: Scripted, fake: FakeRouter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "COUNTER_S", 0.1)
    fake.model, fake.counting = "other", False
    with pytest.raises(CampaignError, match="asked for 'm'; 'other' answered, but the backend"):
        prove_admitted(router_at(server.url), server.url)


def test_a_counter_alone_proves_nothing(server: Scripted, fake: FakeRouter) -> None:
    """Somebody else may ask the worker at the same time: its own model has to answer, too."""
    fake.model = "other"
    with pytest.raises(CampaignError, match="asked for 'm'; 'other' answered"):
        prove_admitted(router_at(server.url), server.url)


def test_an_answer_alone_proves_nothing(server: Scripted, fake: FakeRouter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A router may ignore ``model``: the right name answers, but the worker has counted nothing."""
    monkeypatch.setattr(proof, "COUNTER_S", 0.1)
    with scripted(
        lambda *_request: (
            200,
            b"llamacpp:n_decode_total 7\n" if _request[1] == "/metrics" else {"data": [{"id": "m"}]},
        )
    ) as worker:
        fake.workers = {worker.url: {"id": "id-w", "url": worker.url, "is_healthy": True}}
        with pytest.raises(CampaignError, match=r"'m' answered, but the backend .* counted no request"):
            prove_admitted(router_at(server.url), worker.url)


def test_without_a_counter_less_has_to_be_asked_for(server: Scripted, fake: FakeRouter) -> None:
    fake.counts = False
    with pytest.raises(
        CampaignError, match=r"shows no request counter at /metrics.*admission\.proof: model, or listed"
    ):
        prove_admitted(router_at(server.url), server.url)
    assert prove_admitted(router_at(server.url, proof="model"), server.url) == "m answered"
    asked = len(server.requests)
    assert prove_admitted(router_at(server.url, proof="listed"), server.url).startswith("listed as healthy")
    assert len(server.requests) == asked + 1


def test_a_drained_worker_that_still_gets_requests_is_found(server: Scripted, fake: FakeRouter) -> None:
    """Case I10: the router's list says it is gone, its traffic says it isn't."""
    fake.workers = {}
    with pytest.raises(CampaignError, match=r"doesn't list .* any more, but still sends it requests"):
        prove_closed(router_at(server.url), server.url, "m")
    fake.status = 503
    assert prove_closed(router_at(server.url), server.url, "m") == "a request for m is refused (HTTP 503)"


def test_a_listing_of_another_shape_is_a_fault() -> None:
    with (
        scripted(lambda *_request: (200, {"backends": [{"address": 7}]})) as other,
        pytest.raises(CampaignError, match=r"backends\.\*\.address of its listing holds 7, which is no address"),
    ):
        router_at(other.url, api="http").workers()
