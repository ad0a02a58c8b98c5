"""Two brokers that are asked the same, and what they answered otherwise."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fakebroker.client.connection import ClientConnection, ConnectionLost, Pending
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.comparison.matching import Around, Matching
from fakebroker.scenarios.comparison.walk import Difference
from fakebroker.scenarios.dialogue.batches import build

Json = Any

PARKED_MS = 100  # a request that neither broker has answered by then waits for something else to happen
ANSWER_MS = 15_000  # in which one broker answers what the other has answered
RETRIES, RETRY_MS = 60, 25
READ_AGAIN, READ_AGAIN_MS = 5, 60
CLOSES = "closes the connection"
CLOSING_MS = 200  # in which brokers notice that a connection is gone
LONGEST_VALUE = 12  # in the kind of a difference
RAW_CORRELATION_ID = 0x7FFFFFFF  # of requests that are sent as bytes, as in dialogues
_ENTRY = re.compile(r"\[[^\]]*\]")
# The coordinator or leader is not ready, or a transaction is not complete: the other broker may be faster.
NOT_YET = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,  # of a batch, while another transaction of its producer ends
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)


# These change nothing. What they read may be under way on one side: the end of a transaction, a join that is parked.
READS = frozenset(
    {
        "ConsumerGroupDescribe", "DescribeConfigs", "DescribeGroups", "DescribeProducers", "DescribeShareGroupOffsets",
        "DescribeTopicPartitions", "DescribeTransactions", "DescribeAcls", "DescribeClientQuotas", "Fetch",
        "ListGroups", "ListOffsets", "ListTransactions", "Metadata", "OffsetFetch", "OffsetForLeaderEpoch",
        "ShareGroupDescribe", "StreamsGroupDescribe",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A request: on which connection, of which API and version, with Kafka's field names.

    Attributes:
        can_wait: It may be parked until something else happens.
        then_ms: What passes after the answer, as it begins something that ends later.
        frame: The bytes that are sent in the place of `request`.
    """

    connection: str
    api: str
    version: int
    request: dict[str, Json]
    can_wait: bool = False
    then_ms: int = 0
    frame: bytes | None = None

    @property
    def is_of_session(self) -> bool:
        """Whether a session counts it, so that it cannot be asked again."""
        return "ShareSessionEpoch" in self.request or self.request.get("SessionEpoch", -1) != -1

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, so that it may be asked again."""
        return self.frame is None and not self.is_of_session and self.api in READS


@dataclass(frozen=True)
class Restart:
    """The brokers are stopped, or killed, and started again; all connections are closed before."""

    action: str  # "stop" or "kill"


@dataclass
class Exchange:
    """A request of a history with what the reference answered: None if nothing came, or the connection closed."""

    asked: Asked
    answer: Json = None
    is_closed: bool = False
    waited_ms: int = 0


@dataclass
class History:
    """What happened, in order.

    ("request" or "answer", Exchange), ("wait", milliseconds), ("close", connection), ("restart", Restart).
    """

    events: list[tuple[str, Any]] = field(default_factory=list)
    steps: int = 0

    def add(self, kind: str, what: Any) -> None:
        """Note an event."""
        self.events.append((kind, what))
        self.steps += kind == "request"


class Differs(AssertionError):
    """The brokers answered differently. Differences of one `kind` are in the same fields, with the same values."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


class _Side:
    """One of the two brokers, with its connections by name."""

    def __init__(self, driver: TcpDriver, address: Address) -> None:
        self._driver, self._address = driver, address
        self._clients: dict[str, ClientConnection] = {}

    def send(self, asked: Asked, request: dict[str, Json]) -> Pending:
        """Send a request. Raises WireError where it does not fit its version."""
        spec = api(asked.api)
        message = None
        if asked.frame is None:
            message = from_json(spec.request, asked.version, build(request, self._driver.wall_ms))
        client = self._clients.get(asked.connection)
        if client is None or client.closed_reason is not None:
            client = self._clients[asked.connection] = ClientConnection("differential")
            self._driver.open(client, self._address)
        if message is None:
            assert asked.frame is not None
            pending = client.expect(spec.key, asked.version, RAW_CORRELATION_ID)
            client.send_bytes(asked.frame)
        else:
            pending = client.send(message, asked.version, expects_answer=request.get("Acks") != 0)
        self._driver.flush(client)
        return pending

    def close(self, connection: str) -> None:
        """Close a connection, if it is there."""
        client = self._clients.pop(connection, None)
        if client is not None:
            self._driver.close(client)

    @property
    def connections(self) -> list[str]:
        """The names of those that are or were open."""
        return list(self._clients)


@dataclass
class _Parked:
    """A request that at least one broker has not answered."""

    exchange: Exchange
    theirs: Pending
    ours: Pending
    started_ms: int

    def is_done(self) -> bool:
        """Whether both have answered."""
        return self.theirs.is_done and self.ours.is_done


class Pair:
    """A reference and a subject, asked by one thread. `history` is what happened so far.

    `restart` restarts both, and returns when they answer again.
    """

    def __init__(self, reference: Address, subject: Address, restart: Callable[[Restart], None] | None = None) -> None:
        self._restart = restart
        self._driver = TcpDriver(*reference)
        self._reference, self._subject = _Side(self._driver, reference), _Side(self._driver, subject)
        self._matching = Matching()
        self._parked: dict[str, _Parked] = {}  # by connection
        self.history = History()

    def know_topic(self, reference_id: str, subject_id: str) -> None:
        """Note the ids of a topic that was made before."""
        self._matching.pairs.pair("topic", reference_id, subject_id)

    def is_busy(self, connection: str) -> bool:
        """Whether a request of the connection is parked."""
        return connection in self._parked

    def ask(self, asked: Asked) -> list[Exchange]:
        """Ask both; returns this exchange if it was answered, after those parked ones that it ended.

        Raises Differs, and WireError for a request that does not fit its version.
        """
        exchange = Exchange(asked)
        started_ms = self._driver.mono_ms
        theirs = self._reference.send(asked, asked.request)
        ours = self._subject.send(asked, self._translated(asked.request))
        self.history.add("request", exchange)
        parked = self._parked[asked.connection] = _Parked(exchange, theirs, ours, started_ms)
        self._driver.pass_time(PARKED_MS if asked.can_wait else ANSWER_MS, parked.is_done)
        ended = self._ended()
        return [*ended, *self.wait(asked.then_ms)] if asked.then_ms else ended

    def wait(self, ms: int) -> list[Exchange]:
        """Let time pass; returns the exchanges that ended."""
        self.history.add("wait", ms)
        self._driver.pass_time(ms)
        return self._ended()

    def close(self, connection: str) -> None:
        """The client closes a connection on both sides."""
        self.history.add("close", connection)
        self._parked.pop(connection, None)
        self._reference.close(connection)
        self._subject.close(connection)
        self._driver.pass_time(CLOSING_MS)

    def restart(self, how: Restart) -> None:
        """Close every connection, and restart both brokers."""
        assert self._restart is not None
        for connection in {*self._reference.connections, *self._subject.connections}:
            self.close(connection)
        self.history.add("restart", how)
        self._restart(how)

    def close_all(self) -> None:
        """Close everything."""
        self._driver.close_all()

    def _translated(self, request: Json) -> Json:
        """The request with the subject's ids in place of the reference's, in batches, too."""
        if isinstance(request, dict) and "pid" in request:
            return request | {"pid": self._matching.translated({"ProducerId": request["pid"]})["ProducerId"]}
        if isinstance(request, dict) and request.keys() == {"batch"}:
            return {"batch": self._translated(request["batch"])}
        if not _has_batch(request):
            return self._matching.translated(request)
        if isinstance(request, dict):
            plain = self._matching.translated({key: each for key, each in request.items() if not _has_batch(each)})
            return {key: plain[key] if key in plain else self._translated(each) for key, each in request.items()}
        return [self._translated(each) for each in request]

    def _ended(self) -> list[Exchange]:
        """Compare what has ended, in the order in which it was asked: what answers say of ids, later ones rely on."""
        ended = []
        for connection, parked in list(self._parked.items()):
            if not (parked.theirs.is_done or parked.ours.is_done):
                if not parked.exchange.asked.can_wait:
                    raise _differs(parked.exchange.asked, "no answer", "neither broker answers")
                continue
            self._driver.pass_time(ANSWER_MS, parked.is_done)
            parked.exchange.waited_ms = self._driver.mono_ms - parked.started_ms
            del self._parked[connection]
            self.history.add("answer", parked.exchange)
            self._compare(parked.exchange, parked.theirs, parked.ours)
            ended.append(parked.exchange)
        return ended

    def _compare(self, exchange: Exchange, theirs: Pending, ours: Pending) -> None:
        """Take in both answers. Raises Differs. The reference is asked again while it is not ready for the request."""
        asked = exchange.asked
        for attempt in range(RETRIES):
            said, answered = _outcome(theirs), _outcome(ours)
            if isinstance(said, str) or isinstance(answered, str):
                exchange.is_closed = said == CLOSES
                if said == answered:
                    return
                how = f"the reference {_short(said)}, the subject {_short(answered)}"
                raise _differs(asked, how if isinstance(said, str) and isinstance(answered, str) else "closes", how)
            if self._is_not_ready(said, answered) and attempt < RETRIES - 1 and not asked.is_of_session:
                theirs = self._again(asked)
                continue
            exchange.answer = said
            around = Around(asked.request, self._driver.wall_ms, self._driver.wall_ms)
            if self._matching.same(said, answered, around):
                return
            if asked.is_read and attempt < READ_AGAIN:
                theirs, ours = self._both_again(asked)
                continue
            found = self._matching.differences(said, answered, around)
            if found:
                kind = "; ".join(sorted({_kind_of(each) for each in found}))
                lines = [f"{each.path}: subject {each.ours}, reference {each.recorded}" for each in found]
                raise _differs(asked, kind, *lines)
            return

    @staticmethod
    def _is_not_ready(said: Json, answered: Json) -> bool:
        """Whether the reference answers that it is not ready, and the subject is."""
        return bool(NOT_YET & set(_codes(said)) - set(_codes(answered)))

    def _both_again(self, asked: Asked) -> tuple[Pending, Pending]:
        """Ask both again, a moment later."""
        self._driver.pass_time(READ_AGAIN_MS)
        theirs = self._reference.send(asked, asked.request)
        ours = self._subject.send(asked, self._translated(asked.request))
        self._driver.pass_time(ANSWER_MS, lambda: theirs.is_done and ours.is_done)
        return theirs, ours

    def _again(self, asked: Asked) -> Pending:
        self._driver.pass_time(RETRY_MS)
        theirs = self._reference.send(asked, asked.request)
        self._driver.pass_time(ANSWER_MS, lambda: theirs.is_done)
        return theirs


def _differs(asked: Asked, kind: str, *lines: str) -> Differs:
    shown = asked.frame.hex() if asked.frame is not None else asked.request
    title = f"{asked.api} v{asked.version} on {asked.connection} {shown}:"
    return Differs("\n  ".join([title, *lines]), f"{asked.api}: {kind}")


def _kind_of(difference: Difference) -> str:
    """The field and its values, without the names of entries."""
    values = (each if len(each) <= LONGEST_VALUE else "..." for each in (difference.ours, difference.recorded))
    return " ".join([_ENTRY.sub("[]", difference.path), *values])


def _has_batch(value: Json) -> bool:
    if isinstance(value, dict):
        return value.keys() == {"batch"} or any(map(_has_batch, value.values()))
    return isinstance(value, list) and any(map(_has_batch, value))


def _outcome(pending: Pending) -> Json:
    """The answer as JSON, or how it ended without one."""
    if not pending.is_done:
        return "does not answer"
    if isinstance(pending.error, ConnectionLost):
        return CLOSES
    if pending.error is not None:
        return f"sends {pending.error}"
    return {} if pending.response is None else to_json(pending.response, pending.version)


def _codes(answer: Json) -> Iterator[int]:
    """Every error code in an answer."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key.endswith("ErrorCode") and value:
                yield value
            elif isinstance(value, (dict, list)):
                yield from _codes(value)
    elif isinstance(answer, list):
        for each in answer:
            yield from _codes(each)


def _short(outcome: Json) -> str:
    return outcome if isinstance(outcome, str) else f"answers {str(outcome)[:600]}"
