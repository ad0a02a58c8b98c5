"""A history read from a running broker."""

from collections.abc import Iterator

import pytest

from fakebroker import FakeBroker
from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.live import Span, live_ends, live_spans, read_live, read_partition
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import NoSuchPartition
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.records.offsets_topic import TopicPartition


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """Five partitions of the log, and a topic."""
    with FakeBroker(config={"offsets.topic.num.partitions": 5}) as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def commit(broker: FakeBroker, group_id: str, offset: int) -> None:
    """Commit an offset of orders-0."""
    broker.client("a").commit({("orders", 0): offset}, group_id=group_id)


def test_everything_in_the_log_is_read(broker: FakeBroker) -> None:
    """Commits of all groups come with their places."""
    for n in range(12):
        commit(broker, f"g{n % 4}", n)

    rows = list(decode_all(read_live(ClientConfig(broker.bootstrap), "west")))

    assert sorted((row["group_id"], row["committed_offset"]) for row in rows) == sorted(
        (f"g{n % 4}", n) for n in range(12)
    )
    assert {(row["source"], row["file"], row["what"]) for row in rows} == {("west", broker.bootstrap, "commit")}
    assert all(row["position"] == row["log_offset"] for row in rows)
    assert len({row["log_partition"] for row in rows}) > 1


def test_a_part_of_a_partition_is_read(broker: FakeBroker) -> None:
    """Batches are fetched as a whole, and only the records asked for are given."""
    for n in range(5):
        commit(broker, "g", n)
    (span,) = [each for each in live_spans(ClientConfig(broker.bootstrap)) if each.end > 0]

    assert span == Span(span.log_partition, 0, 5)
    found = list(read_partition(ClientConfig(broker.bootstrap), span.log_partition, 2, 4, "west"))
    assert [each.log_offset for each in found] == [2, 3]
    assert all(isinstance(each, LogRecord) for each in found)


def test_ends_of_logs_are_asked_for(broker: FakeBroker) -> None:
    """A row for each partition that is still there."""
    with ClusterClient(broker.bootstrap) as cluster:
        cluster.produce(TopicPartition("orders", 1), build_batch(plain_records([(None, b"x"), (None, b"y")], 1_000)))

    rows = live_ends(
        ClientConfig(broker.bootstrap),
        {("orders", 0), ("orders", 1), ("gone", 0), ("orders", 9)},
        source="west",
        at_ms=7,
    )

    assert [(row["topic"], row["partition"], row["log_start_offset"], row["log_end_offset"]) for row in rows] == [
        ("orders", 0, 0, 0),
        ("orders", 1, 0, 2),
    ]
    assert {(row["source"], row["at"]) for row in rows} == {("west", 7)}


def test_ends_of_partitions_without_a_leader_are_left_out() -> None:
    """One broker that is away does not keep the other answers back."""
    with FakeBroker(nodes=2) as broker:
        broker.create_topic("orders", partitions=2)
        leaders = broker.topic("orders").leaders
        broker.node(leaders[1]).stop()
        address = broker.node(leaders[0]).address

        rows = live_ends(ClientConfig(str(address)), {("orders", 0), ("orders", 1)}, source="west", at_ms=7)

    assert [row["partition"] for row in rows] == [0]


def test_without_a_broker_or_the_log_it_is_reported() -> None:
    """An address that is none, and a cluster that no group has used yet."""
    with FakeBroker() as broker, pytest.raises(NoSuchPartition, match="no topic '__consumer_offsets'"):
        live_spans(ClientConfig(broker.bootstrap))
    with pytest.raises(InvalidArgument, match="is not HOST:PORT"):
        live_spans(ClientConfig("localhost"))
