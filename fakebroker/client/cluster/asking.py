"""Asking the brokers of a cluster: any of them, the controller, a coordinator; again while the answer is "not yet"."""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

from fakebroker.client.cluster.errors import (
    AnsweredError,
    ClusterError,
    NoBroker,
    NoCommonVersion,
    NoSuchPartition,
    NotLetIn,
    SilentPort,
)
from fakebroker.client.cluster.links import Endpoint, Links, addresses_of
from fakebroker.client.cluster.topics import OLDEST_METADATA, Leader, Topic, View, metadata_request
from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.scripted.driver import Driver
from fakebroker.client.security import Security
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import values_of
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.registry import api, newest_for_one

T = TypeVar("T")

RETRIES: Final = 30
RETRY_PAUSE_MS: Final = 200
TIMEOUT_MS: Final = 30_000
# What a broker answers while it starts, while a coordinator loads, and after what was asked for has moved.
NOT_YET: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.UNKNOWN_SERVER_ERROR,  # of a broker that has not all of its parts yet
    }
)
GROUP, TRANSACTION, SHARE = 0, 1, 2  # kinds of coordinators, as FindCoordinator has them


class Coordinator(NamedTuple):
    """Who coordinates a group, a transactional id, or the state of a share partition (`group:topic-id:partition`)."""

    kind: int
    key: str


Role = Literal["any", "controller"] | int | TopicPartition | Coordinator
"""Who is asked: any broker, the controller, one by its node id, the leader of a partition, a coordinator."""


class Asking:
    """Requests to brokers of one cluster, by what they are to each other; not for several threads at once.

    What fails and may succeed later (leaders that move, brokers that are away) is tried again, with a pause of
    `retry_pause_ms`, up to `retries` times, but no longer than all pauses and one timeout take; after that, and for
    anything else, methods raise ClusterError. Where no address has ever answered, and all of them accept connections
    and are silent, or drop what comes, nothing is tried again.
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        security: Security = Security(),
        client_id: str = "fakebroker-cluster-client",
        timeout_ms: int = TIMEOUT_MS,
        retries: int = RETRIES,
        retry_pause_ms: int = RETRY_PAUSE_MS,
        creates_topics: bool = False,
        driver: Driver | None = None,
    ) -> None:
        """`bootstrap` is HOST:PORT,HOST:PORT: brokers to begin with. Connects to none before something is asked.

        With a `driver` connections and time are the driver's, and without `bootstrap` the first broker is its own.
        With `creates_topics` a topic that is asked for by its name is created if the broker's settings allow it, as
        for a producer, and awaited.
        """
        self.bootstrap = bootstrap or "this broker"
        self._seeds: Sequence[Endpoint] = addresses_of(bootstrap) if bootstrap or driver is None else [None]
        self._links = Links(client_id, timeout_ms, security, driver)
        self._view = View()
        self._retries = retries
        self._longest_ms = timeout_ms + retries * retry_pause_ms
        self._retry_pause_ms = retry_pause_ms
        self._creates_topics = creates_topics
        self._coordinators: dict[Coordinator, Endpoint] = {}

    def close(self) -> None:
        """Close every connection."""
        self._links.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Asking

    def ask(self, request: Message, to: Role = "any", newest: int | None = None) -> Any:
        """The answer to a request, in the newest version up to `newest` that both sides speak.

        It is asked again while a code in the answer means "not yet". A broker that answers so for too long raises
        AnsweredError; other codes are the caller's. Raises ClusterError.
        """
        return self._retried(lambda: self._ask_once(request, to, newest))

    def exchange_at(self, endpoint: Endpoint, request: Message, newest: int | None = None, oldest: int = 0) -> Pending:
        """Ask one address, None for the driver's own broker, once. Raises NoBroker, NoCommonVersion."""
        version = self._links.version(endpoint, type(request), newest, oldest)
        pending = self._links.send(endpoint, request, version)
        self._links.wait(endpoint, pending)
        return pending

    def versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and highest version of each API that the first broker to answer serves."""
        return self._retried(lambda: self._at_any(lambda endpoint: dict(self._links.served(endpoint))))

    def brokers(self) -> dict[int, Address]:
        """The addresses of all brokers by their node ids, as they say themselves."""
        return self._retried(self._ask_brokers)

    def reached(self) -> Address:
        """The first of the bootstrap addresses at which a broker serves this client; each is tried once.

        Raises ClusterError.
        """

        def ask(endpoint: Endpoint) -> Address:
            self._links.ask(endpoint, metadata_request(()), self._links.version(endpoint, MetadataRequest))
            assert endpoint is not None, "an address was given"
            return endpoint

        return self._at_any(ask, self._seeds)

    def adopt(self, connection: ClientConnection) -> None:
        """Ask the driver's own broker on a connection that is open, and logged in, already. Raises NoBroker."""
        self._links.adopt(None, connection)

    @property
    def driver(self) -> Driver:
        """What requests go through, and whose time counts."""
        return self._links.driver

    # Asking once

    def _ask_once(self, request: Message, to: Role, newest: int | None) -> Message:
        if to == "any":
            answer = self._at_any(lambda endpoint: self.exchange_at(endpoint, request, newest)).result()
        else:
            answer = self.exchange_at(self._endpoint_of(to), request, newest).result()
        code = next((int(code) for code in values_of(answer, "errorCode") if code in NOT_YET), None)
        if code is not None:
            error = AnsweredError(f"{api(request.api_key).name}{self._forget(to)}", code)
            error.may_pass = True
            raise error
        return answer

    def _forget(self, role: Role) -> str:
        """Ask anew who has a role before the next try; of what it is, for an error."""
        if isinstance(role, Coordinator):
            self._coordinators.pop(role, None)
            return f" of {role.key!r}"
        if isinstance(role, TopicPartition):
            self._view.topics.pop(role.topic, None)
            return f" of {role}"
        return ""

    def _endpoint_of(self, role: Role) -> Endpoint:
        if isinstance(role, TopicPartition):
            return self._leader(role)[0]
        if isinstance(role, Coordinator):
            if role not in self._coordinators:
                self._coordinators[role] = self._find(role)
            return self._coordinators[role]
        if role not in self._view.brokers:
            self._ask_brokers()
        if role == "controller":  # with KRaft any broker takes its requests, and Metadata names one
            role = self._view.controller_id if self._view.controller_id >= 0 else min(self._view.brokers, default=-1)
        if not isinstance(role, int) or role not in self._view.brokers:
            raise NoBroker(f"there is no broker {role} in the cluster of {self.bootstrap}")
        return self._view.brokers[role]

    def _find(self, role: Coordinator) -> Endpoint:
        if not self._view.brokers:
            self._ask_brokers()
        if role.kind == SHARE:  # known to versions with lists of keys only
            newest, request = None, FindCoordinatorRequest(key_type=role.kind, coordinator_keys=[role.key])
        else:
            newest = newest_for_one(ApiKey.FIND_COORDINATOR)
            request = FindCoordinatorRequest(key_type=role.kind, key=role.key)
        answer: Any = self._at_any(lambda endpoint: self.exchange_at(endpoint, request, newest)).result()
        found = answer.coordinators[0] if answer.coordinators else answer
        if found.error_code:
            raise AnsweredError(f"the coordinator of {role.key!r}", found.error_code, found.error_message)
        return self._view.brokers.get(found.node_id, Address(found.host, found.port))

    def _ask_brokers(self) -> dict[int, Address]:
        self._ask_topics(())
        return dict(self._view.advertised)

    def _ask_topics(self, names: Sequence[str] | None) -> dict[str, Topic]:
        """Ask for topics, all if None; which brokers there are is learned with every answer."""

        def ask(endpoint: Endpoint) -> dict[str, Topic]:
            version = self._links.version(endpoint, MetadataRequest)
            if version < OLDEST_METADATA:
                raise NoCommonVersion(f"{self.bootstrap} is older than Kafka 0.11: Metadata only to v{version}")
            answer = self._links.ask(endpoint, metadata_request(names, creates=self._creates_topics), version)
            return self._view.take(answer, endpoint, all_topics=names is None)

        return self._at_any(ask)

    def _leader(self, partition: TopicPartition) -> tuple[Endpoint, Leader]:
        """Who leads a partition, and where it is. Raises NoSuchPartition, AnsweredError while there is no leader."""
        topic = self._view.topics.get(partition.topic)
        if topic is None:
            topic = self._ask_topics([partition.topic]).get(partition.topic)
        if topic is None and self._creates_topics:
            raise AnsweredError(f"topic {partition.topic!r}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if topic is None:
            raise NoSuchPartition(f"there is no topic {partition.topic!r} at {self.bootstrap}")
        if partition.partition not in topic.leaders:
            raise NoSuchPartition(f"topic {partition.topic!r} has no partition {partition.partition}")
        leader = topic.leaders[partition.partition]
        if leader is None or leader.node_id not in self._view.brokers:
            raise AnsweredError(f"{partition} has no leader", ErrorCode.LEADER_NOT_AVAILABLE)
        return self._view.brokers[leader.node_id], leader

    def _at_any(self, ask: Callable[[Endpoint], T], endpoints: Iterable[Endpoint] = ()) -> T:
        """What the first broker says that can be reached, of all unless `endpoints` are given."""
        problems: list[NoBroker] = []
        for endpoint in endpoints or dict.fromkeys([*self._view.brokers.values(), *self._seeds]):
            try:
                return ask(endpoint)
            except NoBroker as error:
                problems.append(error)
        if all(isinstance(each, NotLetIn) for each in problems):
            raise problems[0]  # of the others the same would be said
        found = NoBroker("; ".join(dict.fromkeys(map(str, problems))))
        # Ports that have been silent from the start stay so.
        is_known = bool(self._view.brokers)
        found.may_pass = any(each.may_pass and (is_known or not isinstance(each, SilentPort)) for each in problems)
        raise found

    # Asking again

    def _retried(self, ask: Callable[[], T], partitions: Iterable[TopicPartition] = ()) -> T:
        """What `ask` returns, asked again while that may help; what is known of the partitions is asked anew before."""
        until_ms = self._links.driver.mono_ms + self._longest_ms
        for tries_left in range(self._retries, -1, -1):
            try:
                return ask()
            except ClusterError as error:
                if not tries_left or not error.may_pass or self._links.driver.mono_ms >= until_ms:
                    raise
            self._links.driver.pass_time(self._retry_pause_ms)
            for name in dict.fromkeys(each.topic for each in partitions):
                self._view.topics.pop(name, None)
        raise AssertionError("the last try returns or raises")
