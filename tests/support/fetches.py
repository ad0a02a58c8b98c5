"""Fetches against one cluster without a network: short requests in, plain answers out, time that is driven."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fakebroker.broker.apis import fetch
from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch, split_batches
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import (
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from tests.support.cluster import by_kafka_name, make_cluster
from tests.support.parked import Sent
from tests.support.time import T0, TimeDriven

MIB = 1 << 20


class At(NamedTuple):
    """One partition of a request."""

    partition: int = 0
    offset: int = 0
    max_bytes: int = MIB
    epoch: int = -1
    last_epoch: int = -1
    topic: str = "t"


class Pending(Sent):
    """A Fetch that was sent."""

    def __init__(self, call: Call, returned: FetchResponse | None) -> None:
        super().__init__(call, FetchResponse, returned)

    @property
    def response(self) -> FetchResponse:
        """The answer, which must have come."""
        assert isinstance(self.answer, FetchResponse), "still parked"
        return self.answer

    def partitions(self) -> list[tuple[str | bytes, PartitionData]]:
        """(topic name or id, partition) in the order of the answer."""
        return [(entry.topic or entry.topic_id, data) for entry in self.response.responses for data in entry.partitions]

    def only(self) -> PartitionData:
        """The one partition answered."""
        ((_, data),) = self.partitions()
        return data

    def offsets(self) -> dict[int, list[int]]:
        """Partition -> base offsets of the batches (or offsets of the messages) in it."""
        return {
            data.partition_index: [int.from_bytes(one[:8], "big") for one in split_batches(data.records or b"")]
            for _, data in self.partitions()
        }

    def hang_up(self) -> None:
        """The client goes away."""
        connection: Any = self.call.connection  # the one of `make_call`, which keeps what it gets
        for _, callback in connection.watched:
            callback(self.call.now)


class Fetches(TimeDriven):
    """A cluster with a topic "t" of four partitions. Batches of `produce` have 100 bytes each unless said otherwise."""

    def __init__(
        self,
        make_call: Callable[..., Call],
        as_release: str = "4.3",
        **settings: Any,
    ) -> None:
        values = by_kafka_name(settings)
        self.cluster = make_cluster(values, as_release, seed=1)
        super().__init__(self.cluster.timers, Instant(T0, 0))
        self._make_call = make_call
        self.topic = self.cluster.topics.create("t", 4)

    def log(self, partition: int = 0, topic: str = "t") -> PartitionLog:
        found = self.cluster.topics.get(topic)
        assert found is not None
        return found.partitions[partition].log

    def produce(
        self, count: int = 1, partition: int = 0, size: int = 100, timestamp_ms: int = T0, topic: str = "t"
    ) -> None:
        """Append `count` batches of one record, of exactly `size` bytes."""
        for _ in range(count):
            batch = build_batch([Record(0, timestamp_ms, None, b"v" * (size - (68 if size < 132 else 70)))])
            assert len(batch) == size
            self.log(partition, topic).append(batch, self.now)

    def fetch(self, *asked: At, version: int = 12, node: int = 1, **fields: Any) -> Pending:
        """Send a fetch (`fetch_request` has the fields); it is answered or parked when this returns."""
        request = fetch_request(self.cluster, *asked, version=version, **fields)
        request, _ = FetchRequest.decode(request.encode(version), version)
        call = self._make_call(self.cluster, version, now=self.now)
        call.node = self.cluster.nodes[node]
        return Pending(call, fetch.handle(call, request))

    def entry(self, version: int, one: At, ids: dict[str, bytes] | None = None) -> FetchTopic:
        """One partition as it stands in a request."""
        return _entry(self.cluster, version, one, ids or {})


def fetch_request(
    cluster: Cluster,
    *asked: At,
    version: int,
    wait: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 50 * MIB,
    session: int = 0,
    epoch: int = -1,
    forget: Sequence[At] = (),
    committed: bool = False,
    ids: dict[str, bytes] | None = None,
    replica: int = -1,
    rack: str = "",
) -> FetchRequest:
    """A request for these partitions, by the ids that their topics have in `cluster` or in `ids`."""
    request = FetchRequest(
        max_wait_ms=wait,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session,
        session_epoch=epoch,
        isolation_level=1 if committed else 0,
        rack_id=rack,
        topics=[_entry(cluster, version, one, ids or {}) for one in asked],
        forgotten_topics_data=[
            ForgottenTopic(partitions=[one.partition], **_name(cluster, version, one.topic, ids or {}))
            for one in forget
        ],
    )
    if version >= 15:
        request.replica_state.replica_id = replica
    else:
        request.replica_id = replica
    return request


def _entry(cluster: Cluster, version: int, one: At, ids: dict[str, bytes]) -> FetchTopic:
    row = (one.partition, one.epoch, one.offset, one.last_epoch, -1, one.max_bytes, bytes(16), 2**63 - 1)
    return FetchTopic(partitions=[row], **_name(cluster, version, one.topic, ids))


def _name(cluster: Cluster, version: int, name: str, ids: dict[str, bytes]) -> dict[str, Any]:
    if version < 13:
        return {"topic": name}
    topic = cluster.topics.get(name)
    return {"topic_id": ids.get(name) or (topic.id if topic else bytes(15) + b"?")}
