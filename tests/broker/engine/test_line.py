"""The line of requests that hold much memory while they are at work: one after the other does."""

import tracemalloc
from collections.abc import Callable

import pytest

from fakebroker.broker.apis.push_telemetry import MAX_UNPACKED_BYTES
from fakebroker.broker.engine import engine
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.compression import GZIP, LZ4, SNAPPY, ZSTD, compress
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_scan import RECORDS_PER_STEP
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.cluster import partition
from tests.support.engine import Client, SimEngine
from tests.support.fetches import At, fetch_request
from tests.support.frames import request
from tests.support.time import T0

CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
MIB = 1 << 20
BIG_BYTES = 8 * MIB  # what each request has unpacked
CLIENTS = 4

Frames = Callable[[SimEngine, Client], bytes]


@pytest.fixture
def lab() -> SimEngine:
    lab = SimEngine(as_release="3.9")  # it serves old Fetches
    lab.cluster.topics.create("t", 1)
    return lab


def zeros(codec: int, size_bytes: int = BIG_BYTES) -> bytes:
    """A batch of some KiB that unpacks to so much."""
    return build_batch([Record(0, T0, b"k", bytes(size_bytes))], codec=codec)


def produce(batch: bytes) -> bytes:
    data = [PartitionProduceData(index=0, records=batch)]
    return request("Produce", 7, acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])


def push(lab: SimEngine, client: Client, metrics: bytes, codec: int) -> bytes:
    got = client.ask("GetTelemetrySubscriptions", 0, client_instance_id=ZERO_UUID)
    fields = {"client_instance_id": got.client_instance_id, "subscription_id": got.subscription_id}
    return request("PushTelemetry", 0, metrics=metrics, compression_type=codec, **fields)


def search() -> bytes:
    return request("ListOffsets", 5, replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[(0, -1, T0, 1)])])


def fetch(lab: SimEngine) -> bytes:
    message = fetch_request(lab.cluster, At(0), version=3, wait=0)
    fields = {name: getattr(message, name) for name in ("max_wait_ms", "min_bytes", "max_bytes", "topics")}
    return request("Fetch", 3, replica_id=-1, **fields)


def stored(lab: SimEngine, codec: int) -> None:
    """The topic has a batch that unpacks to BIG_BYTES."""
    partition(lab.cluster).log.append(zeros(codec), lab.network.now)


def way(name: str, codec: int, lab: SimEngine) -> Callable[[Client], bytes]:
    """The request of a client that has BIG_BYTES unpacked."""
    if name == "Produce":
        batch = zeros(codec)
        return lambda _client: produce(batch)
    if name == "PushTelemetry":
        metrics = compress(codec, bytes(BIG_BYTES))
        return lambda client: push(lab, client, metrics, codec)
    stored(lab, codec)
    return lambda _client: search() if name == "ListOffsets" else fetch(lab)


def peak_bytes(lab: SimEngine, frame_of: Callable[[Client], bytes], count: int) -> int:
    """What is held at most while the requests of so many clients are done, beside the requests themselves."""
    clients = [lab.client() for _ in range(count)]
    frames = [frame_of(client) for client in clients]
    tracemalloc.start()
    for client, frame in zip(clients, frames, strict=True):
        client.socket.connection.receive(frame, lab.network.now)
    lab.network.flush()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(client.socket.take() for client in clients)
    lab.cluster.telemetry.clear()
    return peak - 2 * sum(map(len, frames))


WAYS = [
    (name, codec)
    for name in ("Produce", "PushTelemetry", "ListOffsets", "Fetch")
    for codec in CODECS
    if (name, codec) != ("Fetch", ZSTD)  # it is not converted
]


@pytest.mark.parametrize("under_way", [engine.MOST_UNDER_WAY, 1])
@pytest.mark.parametrize(("name", "codec"), WAYS)
def test_many_clients_have_no_more_unpacked_than_one(
    lab: SimEngine, name: str, codec: int, under_way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many requests come with data that unpack to much, one after the other is unpacked, also while they have
    to wait for the places of others.
    """
    monkeypatch.setattr(engine, "MOST_UNDER_WAY", under_way)
    frame_of = way(name, codec, lab)
    peak_bytes(lab, frame_of, 1)  # it imports what it needs
    alone = peak_bytes(lab, frame_of, 1)
    assert alone >= BIG_BYTES
    kept = MAX_UNPACKED_BYTES * 2 if name == "PushTelemetry" else 0  # the pushes themselves
    clients = 3 * CLIENTS if kept else CLIENTS
    most = alone + kept + clients * MIB
    assert most < clients * alone  # what it would be without the line
    assert peak_bytes(lab, frame_of, clients) < most
    assert lab.engine.errors == []


def begun(lab: SimEngine, count: int) -> list[Client]:
    """Clients whose Produces have begun, in this order."""
    clients, frame = [lab.client() for _ in range(count)], produce(zeros(ZSTD))
    for client in clients:
        client.socket.connection.receive(frame, lab.network.now)
    return clients


def step_to_the_end(lab: SimEngine, clients: list[Client]) -> list[int]:
    """The order in which clients are answered, by their indexes."""
    order: list[int] = []
    while lab.engine.works:
        lab.engine.step(lab.network.now)
        parked = [index for index, client in enumerate(clients) if client.socket.connection.is_parked]
        order += [index for index in range(len(clients)) if index not in parked and index not in order]
    assert lab.engine.errors == []
    return order


def test_the_line_is_in_order_of_arrival(lab: SimEngine) -> None:
    """Who came first is answered first."""
    assert step_to_the_end(lab, begun(lab, 5)) == [0, 1, 2, 3, 4]


def test_other_work_goes_on_beside_the_line(lab: SimEngine) -> None:
    """However many wait there, half of all steps are for another long request."""
    lab.cluster.topics.create("many", 9_999)
    clients = begun(lab, 5)
    other = lab.client()
    other.socket.connection.receive(request("Metadata", 9, topics=None), lab.network.now)
    assert other.socket.connection.is_parked
    assert step_to_the_end(lab, [*clients, other])[-1] != 5


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("steps", range(6))
def test_nobody_waits_for_a_client_that_has_gone(lab: SimEngine, gone: int, steps: int) -> None:
    """Whoever of the line leaves, and when: the others are answered."""
    stored(lab, ZSTD)
    clients = [lab.client() for _ in range(3)]
    for client in clients:
        client.socket.connection.receive(search(), lab.network.now)
    for _ in range(steps):
        lab.engine.step(lab.network.now)
    clients[gone].socket.connection.closed(lab.network.now)
    lab.network.flush()
    answered = [client.answer("ListOffsets", 5) is not None for client in clients if client is not clients[gone]]
    assert answered == [True, True]
    assert not lab.engine.works


def test_what_unpacks_to_little_waits_for_nobody(lab: SimEngine) -> None:
    """A batch of a MiB is answered at once, while others are in the line."""
    begun(lab, 3)
    client = lab.client()
    client.socket.connection.receive(produce(zeros(ZSTD, MIB // 2)), lab.network.now)
    assert not client.socket.connection.is_parked
    lab.network.flush()


def test_a_request_of_several_batches_comes_to_its_end(lab: SimEngine) -> None:
    """It has small batches, large ones and some that are not compressed; others are in the line with it."""
    lab.cluster.topics.create("more", 6)
    many = build_batch([Record(n, T0, b"k", None) for n in range(2 * RECORDS_PER_STEP)])
    batches = [zeros(ZSTD), zeros(GZIP), many, zeros(LZ4, 10), zeros(LZ4)]
    data = [PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)]
    clients = begun(lab, 2)
    mixed = lab.client()
    topics = [TopicProduceData(name="more", partition_data=data)]
    mixed.socket.connection.receive(request("Produce", 7, acks=-1, topic_data=topics), lab.network.now)
    clients += [mixed, *begun(lab, 2)]
    assert sorted(step_to_the_end(lab, clients)) == [0, 1, 2, 3, 4]
    lab.network.flush()
    (answer,) = mixed.answer("Produce", 7).responses
    assert [part.error_code for part in answer.partition_responses] == [0] * 5
