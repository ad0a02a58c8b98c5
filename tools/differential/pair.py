"""Two brokers that are asked the same, and what they answered otherwise."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.comparison.matching import Around, Matching
from fakebroker.scenarios.dialogue.batches import build

Json = Any

PARKED_MS = 80  # a request that neither broker has answered by then waits for something else to happen
ANSWER_MS = 5_000  # in which one broker answers what the other has answered
RETRIES, RETRY_MS = 60, 25
# The coordinator or leader is not ready, or a transaction is not complete: the other broker may be faster.
NOT_YET = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)


@dataclass(frozen=True)
class Asked:
    """A request: on which connection, of which API and version, with Kafka's field names. `can_wait`: it may park."""

    connection: str
    api: str
    version: int
    request: dict[str, Json]
    can_wait: bool = False


@dataclass
class Exchange:
    """A request of a history with what the reference answered: None if nothing came, or the connection closed."""

    asked: Asked
    answer: Json = None
    is_closed: bool = False
    waited_ms: int = 0


class Differs(AssertionError):
    """The brokers answered differently; the text has the request and the differences."""


class _Side:
    """One of the two brokers, with its connections by name."""

    def __init__(self, driver: TcpDriver, address: Address) -> None:
        self._driver, self._address = driver, address
        self._clients: dict[str, ClientConnection] = {}

    def send(self, asked: Asked, request: dict[str, Json]) -> Pending:
        """Send a request. Raises WireError where it does not fit its version."""
        message = from_json(api(asked.api).request, asked.version, build(request, self._driver.wall_ms))
        client = self._clients.get(asked.connection)
        if client is None or client.closed_reason is not None:
            client = self._clients[asked.connection] = ClientConnection("differential")
            self._driver.open(client, self._address)
        pending = client.send(message, asked.version, expects_answer=request.get("Acks") != 0)
        self._driver.flush(client)
        return pending

    def close(self, connection: str) -> None:
        """Close a connection, if it is there."""
        client = self._clients.pop(connection, None)
        if client is not None:
            self._driver.close(client)


class Pair:
    """A reference and a subject, asked by one thread. `exchanges` is the history so far."""

    def __init__(self, reference: Address, subject: Address) -> None:
        self._driver = TcpDriver(*reference)
        self._reference, self._subject = _Side(self._driver, reference), _Side(self._driver, subject)
        self._matching = Matching()
        self._parked: dict[str, tuple[Exchange, Pending, Pending, int]] = {}  # by connection
        self.exchanges: list[Exchange] = []

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
        self.exchanges.append(exchange)
        self._parked[asked.connection] = exchange, theirs, ours, started_ms
        both: Callable[[], bool] = lambda: theirs.is_done and ours.is_done  # noqa: E731
        self._driver.pass_time(PARKED_MS if asked.can_wait else ANSWER_MS, both)
        return self._ended()

    def _translated(self, request: Json) -> Json:
        """The request with the subject's ids in place of the reference's, in batches, too."""
        if isinstance(request, dict) and "pid" in request:
            return request | {"pid": self._matching.translated({"ProducerId": request["pid"]})["ProducerId"]}
        if isinstance(request, dict) and request.keys() == {"batch"}:
            return {"batch": self._translated(request["batch"])}
        translated = self._matching.translated(request)
        if isinstance(request, dict):
            return {
                key: self._translated(each) if _has_batch(each) else translated[key] for key, each in request.items()
            }
        if isinstance(request, list):
            return [
                self._translated(each) if _has_batch(each) else other
                for each, other in zip(request, translated, strict=True)
            ]
        return translated

    def wait(self, ms: int) -> list[Exchange]:
        """Let time pass; returns the exchanges that ended."""
        self._driver.pass_time(ms)
        return self._ended()

    def close(self, connection: str) -> None:
        """The client closes a connection on both sides."""
        self._parked.pop(connection, None)
        self._reference.close(connection)
        self._subject.close(connection)

    def close_all(self) -> None:
        """Close everything."""
        self._driver.close_all()

    def _ended(self) -> list[Exchange]:
        """Compare what has ended, in the order in which it was asked: what answers say of ids, later ones rely on."""
        ended = []
        for connection, (exchange, theirs, ours, started_ms) in list(self._parked.items()):
            if not (theirs.is_done or ours.is_done):
                if not exchange.asked.can_wait:
                    raise Differs(f"{_title(exchange.asked)}: neither broker answers")
                continue
            self._driver.pass_time(ANSWER_MS, lambda one=theirs, other=ours: one.is_done and other.is_done)  # type: ignore[misc]
            exchange.waited_ms = self._driver.mono_ms - started_ms
            del self._parked[connection]
            self._compare(exchange, theirs, ours)
            ended.append(exchange)
        return ended

    def _compare(self, exchange: Exchange, theirs: Pending, ours: Pending) -> None:
        asked = exchange.asked
        for attempt in range(RETRIES):
            said, answered = _outcome(theirs), _outcome(ours)
            if isinstance(said, str) or isinstance(answered, str):
                exchange.is_closed = isinstance(said, str)
                if isinstance(said, str) and isinstance(answered, str) and said == answered:
                    return
                raise Differs(f"{_title(asked)}: the reference {_short(said)}, the subject {_short(answered)}")
            around = Around(asked.request, self._driver.wall_ms, self._driver.wall_ms)
            if attempt < RETRIES - 1 and NOT_YET & set(_codes(said)) - set(_codes(answered)):
                self._driver.pass_time(RETRY_MS)
                theirs = self._reference.send(asked, asked.request)
                self._driver.pass_time(ANSWER_MS, lambda pending=theirs: pending.is_done)  # type: ignore[misc]
                continue
            exchange.answer = said
            found = self._matching.differences(said, answered, around)
            if found:
                lines = "".join(f"\n  {each.path}: subject {each.ours}, reference {each.recorded}" for each in found)
                raise Differs(f"{_title(asked)} {asked.request}:{lines}")
            return


def _has_batch(value: Json) -> bool:
    return '"batch"' in json.dumps(value)


def _outcome(pending: Pending) -> Json:
    """The answer as JSON, or how it ended without one."""
    if not pending.is_done:
        return "does not answer"
    if pending.error is not None:
        return "closes the connection"
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


def _title(asked: Asked) -> str:
    return f"{asked.api} v{asked.version} on {asked.connection}"


def _short(outcome: Json) -> str:
    return outcome if isinstance(outcome, str) else f"answers {str(outcome)[:600]}"
