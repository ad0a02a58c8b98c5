"""What a handler is given beside the request: the client and its connection, the node, the time, ways to answer."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fakebroker.broker.core.security.principals import Principal
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.pace import STEP_S, Line

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster, Node
    from fakebroker.broker.core.coordinator.shard import Shard
    from fakebroker.broker.core.transactions.shard import TransactionShard
    from fakebroker.protocol.pace import Pace
    from fakebroker.protocol.schema import Message


T = TypeVar("T")
Response = TypeVar("Response", bound="Message")
Steps = Generator[None, None, Response | None]
"""Long work in steps: it yields after each, and returns the response, or None when the request gets none."""


UNKNOWN_SOFTWARE = ("unknown", "unknown")  # name and version of a client that has not said what it is (KIP-511)

Repeat = Callable[["Call", tuple[Any, ...]], bytes | list[bytes] | None]
"""How to answer requests like one that was answered before, made of it by its API's `repeat(call, request, response)`.

It is given the call and the values of the request's varying fields (`field(..., varies=True)`) in wire order; all else
in the request is the same byte by byte, as are client and connection. It answers as the handler would, with the
encoded body or its pieces, or returns None and has changed nothing: then the handler is asked. What may have changed in
the broker meanwhile it has to ask afresh. It never parks the request.
"""


class Connection(Protocol):
    """What a handler may ask of the connection its request came on. The object lives as long as the connection."""

    def answer(self, call: "Call", response: "Message | None") -> None:
        """Send `response`, or nothing, as the answer of `call`; nothing happens if the client has gone."""

    def watch(self, call: "Call", callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the connection goes away before `call` is answered."""

    def if_unsent(self, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the answer of the request in work cannot be made; at once if the client has gone."""

    @property
    def connection_id(self) -> int:
        """Which connection of the engine it is; no other ever has the number."""

    @property
    def principal(self) -> Principal:
        """Who the client is: ANONYMOUS, or who it has logged in as."""

    @property
    def client_port(self) -> int:
        """The port that the client connected from; 0 if nobody knows it."""

    software: tuple[str, str]
    """What the client says it is, name and version."""

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        """Run `callback` when the connection is closed; of several with the same key only the first."""

    def work(self, call: "Call", steps: Steps[Any], must_finish: bool) -> None:
        """Go on with the steps of `call` later, one at a time, and answer with what they return."""

    def fail(self, reason: str) -> None:
        """Close the connection; `reason` goes to the log."""

    def looked_up(self, call: "Call", group_id: str) -> None:
        """The client of `call` is answered which node coordinates a group."""

    def address_of(self, node_id: int) -> Address | None:
        """Where this client reaches a node: that node's listener of the same kind as the one it came in on."""


class RequestQuota(Protocol):
    """What a handler asks about the quotas of the client whose request it has (QU-7)."""

    @property
    def fetch_bytes(self) -> int | None:
        """More than that a client that fetched nothing for long cannot get without a violation; None: no limit."""

    def fetched(self, size_bytes: int) -> int:
        """A Fetch or ShareFetch would be answered with so many bytes. Returns for how many ms the client is throttled.

        If it is throttled, it gets nothing (FT-19, SGF-20).
        """

    def mutated(self, partitions: int) -> None:
        """Partitions are going to be made or deleted. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED) if they must not."""

    def made(self, partitions: int) -> None:
        """The broker makes a topic for the client, which has not asked for one itself. It is never throttled for that.

        Raises KafkaError(THROTTLING_QUOTA_EXCEEDED) if the topic must not be made (QU-11).
        """


class Call:
    """One request on its way through a handler.

    A handler returns the response, or returns None and calls `reply` once, then or later: the request is parked, and
    until the reply its connection's next request is not read (AV-2). A call is void once its response was returned
    or replied; handlers keep it only while it is parked.
    """

    __slots__ = (
        "api_key",
        "client_host",
        "client_id",
        "cluster",
        "connection",
        "is_answered",
        "line",
        "listener",
        "node",
        "now",
        "unsent",
        "version",
    )

    quota: RequestQuota | None = None
    """The quotas that hold for the request, where there are any."""

    def __init__(
        self, cluster: "Cluster", node: "Node", listener: Listener, connection: Connection, client_host: str
    ) -> None:
        self.cluster = cluster
        self.node = node
        self.listener = listener
        self.connection = connection
        self.client_host = client_host  # as Kafka writes it: "/127.0.0.1"
        self.api_key = -1
        self.version = -1
        self.client_id: str | None = None
        self.now = Instant(0, 0)  # when the request was taken up, not when it is answered; of long work, the step's
        self.is_answered = False
        self.line: Line | None = None  # in which its next step of work waits until no other request is ahead
        self.unsent: Callable[[Instant], None] | None = None  # of `if_unsent`; kept by the connection

    def shard(self, group_id: str) -> "Shard":
        """The coordinator's data of the group's partition, on the node that was asked.

        Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR if the node cannot
        answer for the group.
        """
        return self.node.coordinator.shard(group_id, self.now)

    def transaction_shard(self, transactional_id: str) -> "TransactionShard":
        """The coordinator's data of the transactional id's partition, on the node that was asked.

        Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR, as `shard` does.
        MOCK: the topic of states is made by any first request, where Kafka answers NOT_COORDINATOR until somebody asked
        for the coordinator (PI-4).
        """
        return self.node.transactions.shard(transactional_id, self.now)

    def reply(self, response: "Message") -> None:
        """Answer a request whose handler returned None. If the client has gone, nothing happens."""
        self.connection.answer(self, response)

    def work(
        self, steps: Steps[Response], *, must_finish: bool = False, may_begin_later: bool = False
    ) -> Response | None:
        """Do work that may be long. What a handler returns: the response if the first step was all, else None.

        Between the steps other connections are served, so each must leave the cluster's state whole; the request
        counts as parked. A step is bounded by what its `pace` counts (topics, records), so that the same requests make
        the same steps in virtual time; in real time one that takes long is ended, too. If the client goes away, the
        rest is not done unless it `must_finish`.

        `may_begin_later`: while other clients wait, the first step comes in its turn, too. Nothing that was found out
        before, such as the client's rights by what a topic's id stands for, may count on being followed by it at once.
        """
        if may_begin_later and self._do_others_wait:
            self.connection.work(self, steps, must_finish)
            return None
        try:
            next(steps)
        except StopIteration as end:
            response: Response | None = end.value
            return response
        self.connection.work(self, steps, must_finish)
        return None

    def in_own_turn(self, answer: Callable[[], Response | None]) -> Response | None:
        """Do all that a handler does at once; while other clients wait, later, if the broker's process has not ended
        by then. What a handler returns, as of `work`.
        """
        if not self._do_others_wait:
            return answer()
        return self.work(self._in_own_turn(answer, self.node.incarnation), must_finish=True, may_begin_later=True)

    def _in_own_turn(self, answer: Callable[[], Response | None], incarnation: int) -> Steps[Response]:
        return answer() if self.node.incarnation == incarnation else None
        yield  # makes it a generator

    @property
    def _do_others_wait(self) -> bool:
        """Whether other clients, or their long requests, wait for their turns: first steps are short then."""
        return self.cluster.timers.passes.step_time.step_s < STEP_S

    def in_line(self, steps: Generator[None, None, T], line: Line = Line.UNPACKING) -> Generator[None, None, T]:
        """A part of the request's work that holds much memory: from its second step on it is done while no other
        request is at such a part of that line. They go in the order of arrival; other work goes on beside them.

        Nothing large is to be held at the first pause.
        """
        self.line = line
        try:
            return (yield from steps)
        finally:
            self.line = None

    def pace(self, units_per_step: int) -> "Pace":
        """When the steps of the request's work are over: `work` says what ends one."""
        return self.cluster.timers.passes.pace(units_per_step)

    def no_response(self) -> None:
        """The request gets no answer at all (Produce with acks 0)."""
        self.connection.answer(self, None)

    def close(self, reason: str) -> None:
        """Close the connection in place of an answer; a handler still running raises CloseConnection instead."""
        self.connection.fail(reason)

    def looked_up(self, group_id: str) -> None:
        """The client is answered which node coordinates a group; it is warned of if it then sends no request there."""
        self.connection.looked_up(self, group_id)

    def on_close(self, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the client goes away while this request is parked; forgotten once it is answered."""
        self.connection.watch(self, callback)

    def if_unsent(self, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the answer that follows cannot be made, or at once if the client has gone."""
        self.connection.if_unsent(callback)

    @property
    def connection_id(self) -> int:
        """Which connection of the engine the request came on."""
        return self.connection.connection_id

    @property
    def principal(self) -> Principal:
        """Who the client is: ANONYMOUS, or who it has logged in as (SA-5)."""
        return self.connection.principal

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        """Run `callback` when the connection is closed, whatever comes on it until then; once for each key."""
        self.connection.at_end(key, callback)

    def address_of(self, node_id: int) -> Address | None:
        """The host and port that this client should use for a node, or None if the node has no listener of its kind."""
        return self.connection.address_of(node_id)
