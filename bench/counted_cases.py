"""Cases on the engine, without sockets: what a client that pipelines costs. Every request has another correlation id,
and what changes from request to request in life (offsets, epochs, times, sizes) changes here.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import NamedTuple

from bench import requests as r
from bench import transactions
from bench.counted_groups import share_fetches, share_heartbeats, streams_heartbeats
from bench.scale import World
from fakebroker.protocol.schema import Message
from tests.support.cluster import partition

GROUP, TOPIC = "bench", "bench"
BATCH_BYTES = 16_384
RECORDS = 16
LOG_BATCHES = 64  # that a Fetch reads through, again and again

Requests = Iterator[tuple[Message, int]]  # with their versions, without end
Prepare = Callable[[World], Requests]


class Case(NamedTuple):
    """N requests on one connection, so many of them in each read from its socket."""

    name: str
    requests_per_read: int
    reads: int  # with N requests
    prepare: Prepare

    def run(self, mark: Callable[[], None]) -> int:
        """Send N requests, then 2N; returns N. AssertionError if one was not answered well."""
        world = World()
        requests = (
            r.frame(request, version, number) for number, (request, version) in enumerate(self.prepare(world), 1)
        )
        parts = [self._reads(requests, reads) for reads in (self.reads // 4 + 2, self.reads, 2 * self.reads)]
        for part in parts:
            self._send(world, part)
            mark()
        check(world)
        return self.reads * self.requests_per_read

    def _reads(self, requests: Iterator[bytes], count: int) -> list[bytes]:
        return [b"".join(islice(requests, self.requests_per_read)) for _ in range(count)]

    def _send(self, world: World, reads: list[bytes]) -> None:
        connection, now = world.connection, world.now
        for data in reads:
            now = now.plus(1)
            connection.receive(data, now)
            while connection.wants_turn:
                connection.resume(now)
            connection.data_to_send()
        world.now = now


def check(world: World) -> None:
    """AssertionError unless all requests that the journal still has were answered without an error."""
    bad = [entry for entry in world.broker.journal.requests() if entry.errors or entry.response_frame is None]
    assert not bad, bad[:3]
    assert not world.engine.errors, world.engine.errors


def heartbeats(world: World) -> Requests:
    """Of one of three members."""
    group = world.group(GROUP, 3)
    member = next(iter(group.members))
    while True:
        yield r.heartbeat(GROUP, 1, member), r.HEARTBEAT


def consumer_heartbeats(world: World) -> Requests:
    """Of one of three members of a consumer group (KIP-848), reconciled, which has nothing to tell."""
    world.broker.create_topic(TOPIC, partitions=3)
    members = [f"member-{number}" for number in range(3)]
    answers = {each: world.ask(r.consumer_join(GROUP, each, [TOPIC]), r.CONSUMER_HEARTBEAT) for each in members}
    for _ in range(5):
        world.advance(1000)  # between two targets
        for each, answer in answers.items():
            heartbeat = r.consumer_heartbeat(GROUP, each, answer.member_epoch, r.assigned(answer))
            answers[each] = world.ask(heartbeat, r.CONSUMER_HEARTBEAT)
    epochs = {answer.member_epoch for answer in answers.values()}
    assert epochs == {1 + len(members)}, answers
    while True:
        yield r.consumer_heartbeat(GROUP, members[0], *epochs), r.CONSUMER_HEARTBEAT


def commits(topics: int, partitions: int, metadata: Callable[[int], str] | None = None) -> Prepare:
    """Of a member that goes on in each partition; `metadata` of the request of a number."""

    def prepare(world: World) -> Requests:
        member = next(iter(world.group(GROUP, 3).members))
        names = [f"{TOPIC}-{number}" for number in range(topics)]
        for name in names:
            world.broker.create_topic(name, partitions=partitions)
        for number in count():
            offset, text = 7 + number * 3, metadata(number) if metadata else ""
            yield r.commit(GROUP, names, partitions, 1, member, offset=offset, metadata=text), r.COMMIT

    return prepare


def api_versions(_: World) -> Requests:
    """Of a client that does not remember the answer."""
    while True:
        yield r.which_versions(), r.API_VERSIONS


def metadata(world: World) -> Requests:
    """Of ten topics with ten partitions each."""
    names = [f"{TOPIC}-{number}" for number in range(10)]
    for name in names:
        world.broker.create_topic(name, partitions=10)
    while True:
        yield r.ask_for(names), r.METADATA


def list_offsets(world: World) -> Requests:
    """Of one partition, by a time that goes on."""
    fill(world, partitions=1)
    for number in count():
        yield r.offset_at(TOPIC, r.FIRST_MS + number % (LOG_BATCHES * RECORDS)), r.LIST_OFFSETS


def offset_fetches(world: World) -> Requests:
    """Of all offsets of a group with 1,000."""
    world.broker.create_topic(TOPIC, partitions=1000)
    yield r.commit(GROUP, [TOPIC], 1000), r.COMMIT
    while True:
        yield r.all_offsets(GROUP), r.OFFSET_FETCH


def alike(number: int) -> bytes:
    """A batch of 16 KiB whose records are of one size; its times are those of its number."""
    return r.batch(BATCH_BYTES, RECORDS, r.FIRST_MS + number * RECORDS)


def unlike(number: int) -> bytes:
    """A batch of about 16 KiB, of another size than its neighbours, whose records are all unlike."""
    return r.unlike_batch(BATCH_BYTES, RECORDS, number)


def produces(batch: Callable[[int], bytes]) -> Prepare:
    """Of one batch each, to one partition."""

    def prepare(world: World) -> Requests:
        world.broker.create_topic(TOPIC)
        for number in count():
            yield r.produce(TOPIC, batch(number)), r.PRODUCE

    return prepare


def idempotent_produces(world: World) -> Requests:
    """As clients send by default: with a producer id and sequences that go on, to be acknowledged by all replicas."""
    world.broker.create_topic(TOPIC)
    for number in count():
        data = r.of_producer(unlike(number), number * RECORDS)
        yield r.produce(TOPIC, data, acks=-1), r.PRODUCE


def transactional(world: World) -> Requests:
    """Of a producer that writes ten records and commits them, again and again: Produce and EndTxn in turn."""
    world.broker.create_topic(TOPIC)
    world.ask(transactions.find_coordinator(GROUP), transactions.FIND_COORDINATOR)
    producer = world.ask(transactions.init_producer_id(GROUP), transactions.INIT_PRODUCER_ID)
    assert producer.error_code == 0, producer
    for epoch in count(producer.producer_epoch):
        yield transactions.produce(TOPIC, GROUP, producer.producer_id, epoch), transactions.PRODUCE
        yield transactions.commit(GROUP, producer.producer_id, epoch), transactions.END_TXN


def fetches(world: World) -> Requests:
    """Of a consumer without a session that reads a batch at a time."""
    limit_bytes = fill(world, partitions=1)
    for number in count():
        yield r.fetch(TOPIC, limit_bytes, number % LOG_BATCHES * RECORDS), r.FETCH


def session_fetches(world: World) -> Requests:
    """Of a session of 100 partitions: 99 have nothing new, one has a batch, and the request names its new offset."""
    limit_bytes = fill(world, partitions=100)
    rows = [r.fetch_row(partition, 0, limit_bytes) for partition in range(100)]
    session_id = world.ask(r.session_fetch(TOPIC, rows, 0, 0), r.FETCH).session_id
    assert session_id
    for number in count(1):
        row = r.fetch_row(0, number % LOG_BATCHES * RECORDS, limit_bytes)
        yield r.session_fetch(TOPIC, [row], session_id, number), r.FETCH


def fill(world: World, partitions: int) -> int:
    """Make the topic, with batches in partition 0; returns a limit in bytes that one batch fills.

    A byte more, and the beginning of the next batch would come with it.
    """
    world.broker.create_topic(TOPIC, partitions=partitions)
    log = partition(world.engine.cluster, topic=TOPIC).log
    for number in range(LOG_BATCHES):
        log.append(alike(number), world.now)
    return len(alike(0))


CASES = [
    Case("ApiVersions, pipelined", 50, 8, api_versions),
    Case("Metadata of 10 topics x 10, pipelined", 10, 8, metadata),
    Case("ListOffsets of 1 partition by time", 50, 8, list_offsets),
    Case("Heartbeat, pipelined", 50, 16, heartbeats),
    Case("ConsumerGroupHeartbeat, pipelined", 50, 16, consumer_heartbeats),
    Case("StreamsGroupHeartbeat, pipelined", 50, 16, streams_heartbeats),
    Case("ShareGroupHeartbeat, pipelined", 50, 16, share_heartbeats),
    Case("ShareFetch of 16 records, accepting 16", 16, 12, share_fetches),
    Case("OffsetCommit of 1 partition", 50, 8, commits(1, 1)),
    Case("OffsetCommit of 1 partition, other metadata each time", 50, 8, commits(1, 1, lambda n: "m" * (n % 7))),
    Case("OffsetCommit of 25 topics x 4", 10, 8, commits(25, 4)),
    Case("OffsetFetch of 1,000", 4, 4, offset_fetches),
    Case("Produce 16 KiB, 16 records alike", 16, 12, produces(alike)),
    Case("Produce 16 KiB, 16 records unlike", 16, 12, produces(unlike)),
    Case("Produce 16 KiB, 16 records unlike, idempotent, acks=all", 16, 12, idempotent_produces),
    Case("Transaction of 10 records, half of it", 2, 48, transactional),
    Case("Fetch 16 KiB", 16, 16, fetches),
    Case("Fetch, session of 100, one with news", 8, 6, session_fetches),
]
