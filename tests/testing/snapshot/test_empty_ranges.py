"""Logs that have offsets and no records, as in a clone without records."""

from typing import Any

import pytest

from fakebroker import InvalidArgument, Snapshot, VirtualBroker
from fakebroker.broker.core.logs.empty_range import EmptyRange
from fakebroker.client.cluster.cluster_client import ClusterClient, Fetch
from fakebroker.client.cluster.offset_ranges import read_range
from fakebroker.protocol.records.offsets_topic import TopicPartition
from tests.testing.snapshot.histories import commit, new_broker


def with_range(start: int, end: int) -> Snapshot:
    """A broker's state whose only topic has the offsets from `start` to `end`."""
    broker = new_broker()
    broker.create_topic("orders", config={"retention.ms": 24 * 3_600_000})
    state = broker.snapshot().state
    topics = tuple(
        topic._replace(
            partitions=(
                topic.partitions[0]._replace(log=None, empty_range=EmptyRange(start, end, state.clock.wall_ms)),
            )
        )
        if topic.name == "orders"
        else topic
        for topic in state.cluster.topics
    )
    return Snapshot(state._replace(cluster=state.cluster._replace(topics=topics)))


def answers(broker: VirtualBroker) -> dict[str, Any]:
    """What a client sees of the log."""
    client = broker.client("reader")
    offsets = {at: client.list_offsets("orders", 0, at) for at in ("earliest", "latest")}
    return {name: answer.topics[0].partitions[0][4] for name, answer in offsets.items()}


def test_clients_see_the_offsets() -> None:
    """The log begins and ends where the state says, a fetch in between finds nothing, and new records follow."""
    broker = with_range(40, 100).virtual_fork()
    client = broker.client("reader")

    assert answers(broker) == {"earliest": 40, "latest": 100}
    assert client.fetch("orders", 0, 50) == []
    broker.topic("orders").produce("next")
    assert [record.offset for record in client.fetch("orders", 0, 100)] == [100]


def test_a_group_lags_behind_the_end() -> None:
    """The lag of a group counts up to the end of the log, although no log was used yet."""
    broker = with_range(40, 100).fork()
    commit(broker, "billing", 60, "orders")

    assert [each.lag for each in broker.group("billing").view().offsets] == [40]


def test_files_and_snapshots_keep_them() -> None:
    """A snapshot of the broker and its file have the same offsets, before the log is used and after."""
    snapshot = with_range(40, 100)

    assert Snapshot.from_bytes(snapshot.to_bytes()) == snapshot
    broker = snapshot.virtual_fork()
    assert broker.snapshot() == snapshot
    answers(broker)
    assert answers(broker.snapshot().virtual_fork()) == {"earliest": 40, "latest": 100}


@pytest.mark.parametrize("end", [100, 2**31 + 50, 2**40])
def test_readers_get_to_the_end(end: int) -> None:
    """A consumer that begins anywhere comes to the end, as after compaction, however many offsets there are."""
    with with_range(40, end).fork() as broker, ClusterClient(broker.bootstrap) as cluster:
        chunks = list(read_range(cluster, Fetch(TopicPartition("orders", 0), 40), end))

    assert [each.next_offset for each in chunks] == [end]


def test_retention_deletes_them() -> None:
    """Once the log is used, its offsets are deleted when retention has passed since they were written."""
    broker = with_range(40, 100).virtual_fork()
    answers(broker)
    broker.clock.advance(hours=23)
    assert answers(broker) == {"earliest": 40, "latest": 100}
    broker.clock.advance(hours=2)
    assert answers(broker) == {"earliest": 100, "latest": 100}


@pytest.mark.parametrize(("start", "end"), [(-1, 4), (5, 4)])
def test_offsets_out_of_order_are_refused(start: int, end: int) -> None:
    """A file whose offsets are not in order is damaged."""
    content = with_range(start, end).to_bytes()

    with pytest.raises(InvalidArgument, match="which are not in order"):
        Snapshot.from_bytes(content)
