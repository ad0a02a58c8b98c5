"""Brokers with very much of something, requests that name all of it, and what the dearest turn of each of them costs.

A turn is what the engine does between two looks at other clients. It is counted in calls, never in time.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from fakebroker.broker.engine.connection import Connection
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.types import ArrayOf, FieldSpec, Primitive
from fakebroker.protocol.wire.registry import api
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.rights import AUTHORIZER, client_of
from tests.support.work_counter import calls_of

TOPIC_FIELDS = frozenset({"name", "topic", "topic_name", "topic_id", "resource_name"})
PARTITION_FIELDS = frozenset({"partition", "partition_index", "index"})
GROUP_FIELDS = frozenset({"group_id", "groups", "group_ids", "groups_names", "coordinator_keys"})
TRANSACTION_FIELDS = frozenset({"transactional_id", "transactional_ids"})
BATCH = build_batch([Record(0, 0, b"k", b"v")])
LEFT_OUT = ("forgotten_topics_data",)  # a test names those that it means
MEMBER = "c5f6a5a0-0000-4000-8000-{:012}"
TIMEOUT_MS = 60_000
STATIC: dict[str, Any] = {
    "session_timeout_ms": TIMEOUT_MS,
    "rebalance_timeout_ms": TIMEOUT_MS,
    "transaction_timeout_ms": TIMEOUT_MS,
    "timeout_ms": TIMEOUT_MS,
    "protocol_type": "consumer",
    "resource_type": 2,
    "partition_max_bytes": 1 << 20,
    "max_bytes": 1 << 20,
    "max_records": 500,
    "batch_size": 500,
    "min_bytes": 1,
    "max_wait_ms": 500,
    "current_leader_epoch": -1,
    "last_fetched_epoch": -1,
    "committed_leader_epoch": -1,
    "replica_id": -1,
    "timestamp": -2,
    "acks": -1,
    "transaction_result": True,
    "committed": True,
    "election_type": 0,
    "path": "/tmp/kafka-logs",  # of no disk: the name of a log directory
    "records": BATCH,
    "replication_factor": 1,
    "resource_type_filter": 1,
    "pattern_type_filter": 1,
    "operation": 1,
    "permission_type": 1,
    "key_type": 0,
    "response_partition_limit": 2_000,
    "state_epoch": 1,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "member_epoch": -1,
}


class Naming(Enum):
    """What the lists of a request name."""

    ALL = "everything"
    FIRST = "the first topic and partition"
    NULL = "everything, by null where a list may be null"


class World:
    """A broker with so many topics or partitions, and groups and transactions if a test makes some.

    `calls` has, by what was done, those of its dearest turn; `sizes` the bytes of the longest request.
    """

    def __init__(self, entries: int, topics: int = 1, user: str | None = None) -> None:
        """`entries` partitions in all, in so many topics."""
        self.lab = SimEngine(None if user is None else AUTHORIZER)
        self.user = user
        self.entries = entries
        self.topics = [self.lab.cluster.topics.create(f"t{n}", entries // topics, 1) for n in range(topics)]
        self.groups = ["g"]
        self.transactions = ["x"]
        self.facts: dict[str, Any] = {"member_id": MEMBER.format(0), "producer_id": 0, "producer_epoch": 0}
        self.calls: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.lab.engine.long_list_bytes = 1_000

    def client(self) -> Client:
        """One more client."""
        return self.lab.client() if self.user is None else client_of(self.lab, self.user)

    # -- what is done, and what it costs ---------------------------------------------------------------------------

    def ask(
        self,
        client: Client,
        name: str,
        label: str = "",
        naming: Naming = Naming.ALL,
        /,
        version: int = -1,
        **fields: Any,
    ) -> Any:
        """Send a request whose lists name what there is, but for `fields`; its answer, if it is there at once."""
        version = self.newest(name) if version < 0 else version
        filler = _Filler(self, version, naming, fields)
        data, connection = request(name, version, **filler.fields_of(api(name).request)), client.socket.connection
        label = f"{name}{label and ', '}{label}"
        self.sizes[label] = max(self.sizes.get(label, 0), len(data))
        self._count(label, lambda: connection.receive(data, self.lab.network.now), connection)
        return client.answer(name, version)

    def wait(self, label: str, ms: int) -> None:
        """Let time pass, from one deadline to the next."""
        engine, left_ms = self.lab.engine, ms
        while left_ms > 0:
            now = engine.now
            due = [at - reading for at, reading in zip(engine.next_deadline(), now, strict=True) if at is not None]
            step_ms = min(left_ms, max(1, min(due, default=left_ms)))
            left_ms -= step_ms
            moment = Instant(now.wall_ms + step_ms, now.mono_ms + step_ms)
            self._count(label, partial(engine.tick, moment))

    def hang_up(self, client: Client, label: str) -> None:
        """The client goes away."""
        connection = client.socket.connection
        self._count(label, lambda: connection.closed(self.lab.network.now))

    @staticmethod
    def of_turns(calls: Sequence[int]) -> int:
        """The calls that count, of those of each turn."""
        return max(calls)

    def _count(self, label: str, work: Callable[[], object], connection: Connection | None = None) -> None:
        engine, now = self.lab.engine, self.lab.network.now
        found = [calls_of(work)]
        while connection is not None and connection.wants_turn:
            found.append(calls_of(lambda: connection.resume(now)))
        while engine.works:
            found.append(calls_of(lambda: engine.step(engine.now)))
        self.calls[label] = self.of_turns([self.calls.get(label, 0), *found])
        self.lab.network.flush()
        assert engine.errors == [], label

    def newest(self, name: str) -> int:
        """The newest version of an API that is served."""
        return self.lab.engine.listeners[0].versions[api(name).key][1]


class _Filler:
    """Makes the fields of one request: what the test gives, what the world says, else what stands for nothing."""

    def __init__(self, world: World, version: int, naming: Naming, given: dict[str, Any]) -> None:
        self.world = world
        self.version = version
        self.naming = naming
        self.facts = {**STATIC, **world.facts, **given}
        self.topics = world.topics[:1] if naming is Naming.FIRST else world.topics

    def fields_of(self, declaration: Any, topic: Any = None, partition: int = 0) -> dict[str, Any]:
        """All fields of a message or of a part of it, which is about that topic and partition."""
        specs = [spec for spec in declaration.fields if spec.versions.includes(self.version)]
        return {spec.name: self._value(spec, topic, partition) for spec in specs if spec.tag is None}

    def _value(self, spec: FieldSpec, topic: Any, partition: int) -> Any:
        kind, name = spec.type, spec.name.removeprefix("v3_and_below_")
        if name in self.facts:
            return self.facts[name]
        if isinstance(kind, ArrayOf):
            is_null = self.naming is Naming.NULL and spec.nullable.includes(self.version)
            return None if is_null else self._list(name, kind.element, topic, partition)
        if not isinstance(kind, Primitive):
            is_nullable = spec.nullable.includes(self.version)
            return None if is_nullable else kind(**self.fields_of(kind, topic, partition))
        one = self._one(name, topic, partition)
        return spec.fresh_default() if one is None else one

    def _one(self, name: str, topic: Any, partition: int) -> Any:
        if name in TOPIC_FIELDS and topic is not None:
            return topic.id if name == "topic_id" else topic.name
        if name in PARTITION_FIELDS:
            return partition
        if name in GROUP_FIELDS:
            return self.world.groups[0]
        return self.world.transactions[0] if name in TRANSACTION_FIELDS else None

    def _list(self, name: str, element: Any, topic: Any, partition: int) -> list[Any]:
        if isinstance(element, Primitive):
            return self._primitives(name, element, topic)
        names = {spec.name for spec in element.fields if spec.versions.includes(self.version)}
        if topic is None and names & TOPIC_FIELDS:
            return [] if name in LEFT_OUT else [self._made(element, each, 0) for each in self.topics]
        if topic is not None:
            partitions = self._partitions(topic) if names & PARTITION_FIELDS else ()
            return [self._made(element, topic, index) for index in partitions]
        return [self._made(element, None, partition)]

    def _primitives(self, name: str, element: Primitive, topic: Any) -> list[Any]:
        if name in GROUP_FIELDS:
            return list(self.world.groups)
        if name in TRANSACTION_FIELDS:
            return list(self.world.transactions)
        is_partitions = topic is not None and "partition" in name and element.name == "int32"
        return list(self._partitions(topic)) if is_partitions else []

    def _partitions(self, topic: Any) -> range:
        return range(1 if self.naming is Naming.FIRST else len(topic.partitions))

    def _made(self, element: Any, topic: Any, partition: int) -> Any:
        values = self.fields_of(element, topic, partition)
        if element.is_row:
            return tuple(values.get(spec.name, spec.fresh_default()) for spec in element.fields)
        return element(**values)


Story = Callable[[World], None]


class Growth(NamedTuple):
    """What each entry that there is more adds to the dearest turn, and to the longest request."""

    calls: float
    size_bytes: float


def growth(story: Story, few: int, many: int, topics: Callable[[int], int], user: str | None) -> dict[str, Growth]:
    """How the parts of a story grow with the entries, by what is done."""
    found: list[World] = []
    for entries in (few, few, many):  # the first may load and compile things
        found.append(World(entries, topics(entries), user))
        story(found[-1])
    _, some, more = found
    return {
        label: Growth(
            (more.calls[label] - some.calls[label]) / (many - few),
            (more.sizes.get(label, 0) - some.sizes.get(label, 0)) / (many - few),
        )
        for label in more.calls
    }
