"""Requests of throttled clients, in real time or at the same moments in virtual time: what is said of throttling."""

import socket
import time
from collections.abc import Callable, Sequence
from struct import unpack
from typing import Any, NamedTuple, Protocol

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.messages.alter_client_quotas import EntityData, EntryData, OpData
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicState
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from fakebroker.protocol.wire.registry import api
from tests.support.engine import SimEngine
from tests.support.frames import frames, request

TOPIC = "t"
_CONNECT_S = 10


class Asker(Protocol):
    """Somebody who has one connection to a broker for each client id."""

    def ask(self, client_id: str, name: str, version: int, **fields: Any) -> Any:
        """The answer to a request."""

    def wait(self, ms: int) -> None:
        """Let time pass."""


class Throttled(NamedTuple):
    """What a request got: when it was answered, the throttle time in the answer, and its error codes.

    `took_ms` is how long the broker had it at most: since it was sent, or since the connection was read again.
    """

    at_ms: int
    throttle_ms: int
    errors: list[int]
    took_ms: int


class OverTcp:
    """Asks a broker over TCP, in real time."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._sockets: dict[str, socket.socket] = {}

    def ask(self, client_id: str, name: str, version: int, **fields: Any) -> Any:
        if client_id not in self._sockets:
            self._sockets[client_id] = socket.create_connection(self._address, _CONNECT_S)
        connection = self._sockets[client_id]
        connection.sendall(request(name, version, client_id=client_id, **fields))
        (size,) = unpack(">i", self._read(connection, 4))
        return decode_response(api(name).key, version, self._read(connection, size))[1]

    def _read(self, connection: socket.socket, size: int) -> bytes:
        connection.settimeout(60)
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            assert part, "the broker closed the connection"
            data += part
        return data

    def wait(self, ms: int) -> None:
        time.sleep(ms / 1000)

    @property
    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def close(self) -> None:
        for connection in self._sockets.values():
            connection.close()


class InVirtualTime:
    """Asks a broker in virtual time. An answer that is late, because the client is muted, is waited for."""

    def __init__(self, lab: SimEngine) -> None:
        self.lab = lab
        self._clients: dict[str, Any] = {}

    def ask(self, client_id: str, name: str, version: int, **fields: Any) -> Any:
        if client_id not in self._clients:
            self._clients[client_id] = self.lab.client()
        client = self._clients[client_id]
        client.socket.send(request(name, version, client_id=client_id, **fields))
        arrived = frames(client.socket.take())
        while not arrived:
            self.lab.network.advance(1)
            arrived = frames(client.socket.take())
        return decode_response(api(name).key, version, arrived[0])[1]

    def wait(self, ms: int) -> None:
        self.lab.network.advance(ms)

    @property
    def now_ms(self) -> int:
        return self.lab.engine.now.mono_ms


def set_quotas(asker: Asker, entity: Sequence[tuple[str, str | None]], **values: float | None) -> Any:
    """AlterClientQuotas of one entity; None removes a quota."""
    components = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    ops = [OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()]
    return asker.ask("admin", "AlterClientQuotas", 1, entries=[EntryData(entity=components, ops=ops)])


def create_topic(asker: Asker, name: str = TOPIC, partitions: int = 1, **fields: Any) -> Any:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    client_id = fields.pop("client_id", "admin")
    return asker.ask(client_id, "CreateTopics", fields.pop("version", 7), topics=[topic], timeout_ms=60_000, **fields)


def delete_topic(asker: Asker, name: str, client_id: str, version: int = 6) -> Any:
    if version < 6:
        return asker.ask(client_id, "DeleteTopics", version, topic_names=[name], timeout_ms=60_000)
    return asker.ask(client_id, "DeleteTopics", version, topics=[DeleteTopicState(name=name)], timeout_ms=60_000)


def produce(asker: Asker, client_id: str, size_bytes: int, topic: str = TOPIC, version: int = 9) -> Any:
    """Produce a record of that size."""
    batch = build_batch([Record(0, 1_700_000_000_000, None, bytes(size_bytes))])
    entry = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    return asker.ask(client_id, "Produce", version, acks=1, timeout_ms=60_000, topic_data=[entry])


def fetch(asker: Asker, client_id: str, max_bytes: int, offset: int = 0, topic: str = TOPIC, **fields: Any) -> Any:
    """Fetch of the topic's first partition, without a session by default."""
    row = (0, -1, offset, -1, -1, max_bytes, bytes(16), 2**63 - 1)
    asked = {"session_epoch": -1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": max_bytes} | fields
    topics = [FetchTopic(topic=topic, partitions=[row])]
    return asker.ask(client_id, "Fetch", 12, topics=topics, **asked)


class Play:
    """A sequence of one client's requests whose throttle times are kept, with the moments of their answers.

    With `moments`, those of another play, each request waits for its own.
    """

    def __init__(self, asker: OverTcp | InVirtualTime, moments: Sequence[int] = ()) -> None:
        self.asker = asker
        self.throttled: list[Throttled] = []
        self._moments = moments
        self._start_ms = asker.now_ms

    def keep(self, ask: Callable[..., Any], *arguments: Any, **fields: Any) -> Any:
        """Ask, and keep what is said of throttling."""
        if self._moments:
            wait_ms = self._moments[len(self.throttled)] - (self.asker.now_ms - self._start_ms)
            self.asker.wait(max(wait_ms, 0))
        read_ms = self.throttled[-1].at_ms + self.throttled[-1].throttle_ms if self.throttled else 0
        sent_ms = max(self.asker.now_ms - self._start_ms, read_ms)
        answer = ask(self.asker, *arguments, **fields)
        at_ms = self.asker.now_ms - self._start_ms
        lists = [getattr(answer, name, ()) for name in ("topics", "responses")]
        errors = [getattr(entry, "error_code", 0) for entries in lists for entry in entries]
        self.throttled.append(Throttled(at_ms, answer.throttle_time_ms, errors, max(0, at_ms - sent_ms)))
        return answer
