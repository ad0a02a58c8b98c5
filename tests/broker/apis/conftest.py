"""A call without a network and a cluster, for testing handlers directly."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.handlers import handler
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.wire.registry import APIS


class FakeConnection:
    """Keeps what a handler did: `replies` (None for "no response"), `watched`, `close_reason`."""

    def __init__(self, addresses: dict[int, Address]) -> None:
        self.replies: list[Any] = []
        self.on_answer: Callable[[Any], None] = lambda _: None
        self.watched: list[tuple[Call, Callable[[Instant], None]]] = []
        self.close_reason: str | None = None
        self.lookups: list[str] = []
        self.principal = ANONYMOUS
        self.connection_id = id(self)
        self.ends: dict[object, Callable[[Instant], None]] = {}
        self._addresses = addresses

    def answer(self, call: Call, response: Any) -> None:
        assert not call.is_answered, "a request may be answered once"
        call.is_answered = True
        self.replies.append(response)
        self.on_answer(response)

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        self.ends.setdefault(key, callback)

    def work(self, call: Call, steps: Steps[Any], must_finish: bool) -> None:  # noqa: ARG002
        while True:
            try:
                next(steps)
            except StopIteration as end:
                if not call.is_answered:
                    self.answer(call, end.value)
                return

    def watch(self, call: Call, callback: Callable[[Instant], None]) -> None:
        self.watched.append((call, callback))

    def fail(self, reason: str) -> None:
        self.close_reason = reason

    def looked_up(self, _call: Call, group_id: str) -> None:
        self.lookups.append(group_id)

    def address_of(self, node_id: int) -> Address | None:
        return self._addresses.get(node_id)


@pytest.fixture
def make_call() -> Callable[..., Call]:
    """make_call(cluster, version=4, client_id="test", now=Instant(...)) -> Call; see `call.connection.replies`."""

    def make(cluster: Any, version: int = 0, *, client_id: str | None = "test", now: Instant = Instant(0, 0)) -> Call:
        listener = Listener(1, "127.0.0.1", 9092, Address("127.0.0.1", 9092))
        connection = FakeConnection({node_id: Address("127.0.0.1", 9091 + node_id) for node_id in cluster.nodes})
        call = Call(cluster, cluster.nodes[1], listener, cast(Any, connection), "/127.0.0.1")
        call.version, call.client_id, call.now = version, client_id, now
        return call

    return make


@pytest.fixture
def ask(make_call: Callable[..., Call]) -> Callable[..., Any]:
    """ask(cluster, request, version) -> the answer of the request's handler, as a client of that version reads it."""

    def ask(cluster: Any, request: Any, version: int, *, now: Instant = Instant(0, 0)) -> Any:
        api = APIS[request.api_key]
        request, _ = type(request).decode(request.encode(version), version)
        call = make_call(cluster, version, now=now)
        response = handler(request.api_key).handle(call, request) or cast(Any, call.connection).replies.pop()
        return api.response.decode(response.encode(version), version)[0]

    return ask


@pytest.fixture
def cluster() -> Cluster:
    """Three brokers; topic `t` of two partitions with two replicas each."""
    cluster = Cluster(Settings(profile="test"), release(), node_ids=(1, 2, 3))
    cluster.topics.create("t", 2, 2)
    return cluster


@pytest.fixture
def guarded() -> Cluster:
    """One broker with an authorizer, which the calls of tests do not ask; topic `t`."""
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    cluster = Cluster(Settings({"authorizer.class.name": name}, profile="test"), release())
    cluster.topics.create("t")
    return cluster
