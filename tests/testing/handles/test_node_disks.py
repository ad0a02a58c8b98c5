"""Disks of nodes that fill up, fail and are healed: what clients see is what Kafka 4.3.1 showed with two log.dirs."""

from collections.abc import Iterator

import pytest

from fakebroker import VirtualBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument, UnknownThing

TWO = {
    "log.dirs": "/a,/b",
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "share.coordinator.state.topic.num.partitions": 2,
}
OFFLINE = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    """One node with two log directories; orders-1 and orders-3 are in the second."""
    with VirtualBroker(config=TWO) as running:
        running.create_topic("orders", partitions=4)
        yield running


def produce(client: ScriptedClient, partition: int, value: bytes = b"x") -> int:
    return int(client.produce("orders", partition, [value]).responses[0].partition_responses[0].error_code)


def commit(client: ScriptedClient, offset: int) -> int:
    [(_index, code)] = client.commit({("orders", 0): offset}).topics[0].partitions
    return int(code)


def states(broker: VirtualBroker, node_id: int = 1) -> list[bool]:
    return [each.is_online for each in broker.node(node_id).log_directories]


def events(broker: VirtualBroker) -> list[str]:
    return [recorded.event.what for recorded in broker.journal.events("node_changed")]


def directory_of(broker: VirtualBroker, replica: str) -> str:
    return next(each.path for each in broker.node(1).log_directories if replica in each.partitions)


@pytest.mark.rules("LR-1")
def test_replicas_are_spread(broker: VirtualBroker) -> None:
    """A new replica goes to the directory that has the fewest."""
    assert [each.partitions for each in broker.node(1).log_directories] == [
        ["orders-0", "orders-2"],
        ["orders-1", "orders-3"],
    ]


@pytest.mark.rules("LR-4")
def test_a_full_disk(broker: VirtualBroker) -> None:
    """The write is refused, the directory is offline until a restart, the other one goes on."""
    client = broker.client("client")
    assert produce(client, 1) == 0
    broker.node(1).fill_disk(directory="/b")
    assert states(broker) == [True, True]

    assert [produce(client, 1), produce(client, 1), produce(client, 0)] == [OFFLINE, OFFLINE, 0]
    assert states(broker) == [True, False]
    assert broker.topic("orders").leaders == {0: 1, 1: -1, 2: 1, 3: -1}
    broker.node(1).heal_disk("/b")
    assert produce(client, 1) == OFFLINE
    broker.node(1).restart()
    assert states(broker) == [True, True]
    assert produce(broker.client("again"), 1) == 0
    assert [record.offset for record in broker.topic("orders").records(partition=1)] == [0, 1]
    assert events(broker) == ["lost a log directory", "stopped", "started"]


@pytest.mark.rules("LR-4")
def test_what_clients_are_answered(broker: VirtualBroker) -> None:
    """Every request for the partition is KAFKA_STORAGE_ERROR; Metadata names no leader and an offline replica."""
    client = broker.client("client")
    broker.node(1).fail_disk("/b")

    described = client.request("DescribeLogDirs", 4, topics=None).results
    assert [(each.log_dir, each.error_code) for each in described] == [("/a", 0), ("/b", OFFLINE)]
    assert [topic.name for topic in described[0].topics] == ["orders"]
    assert described[1].topics == []
    [topic] = client.request("Metadata", 9, topics=[{"name": "orders"}]).topics
    assert [(each.error_code, each.leader_id, each.offline_replicas) for each in topic.partitions[:2]] == [
        (0, 1, []),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1]),
    ]
    with pytest.raises(FakebrokerError, match="KAFKA_STORAGE_ERROR"):
        client.fetch("orders", 1, 0)
    of_one = [{"partition_index": 1, "current_leader_epoch": -1, "timestamp": -1}]
    listed = client.request("ListOffsets", 5, topics=[{"name": "orders", "partitions": of_one}])
    assert listed.topics[0].partitions[0][1] == OFFLINE
    deleted = client.request("DeleteRecords", 2, topics=[{"name": "orders", "partitions": [{"partition_index": 1}]}])
    assert deleted.topics[0].partitions[0].error_code == OFFLINE
    moved = client.request(
        "AlterReplicaLogDirs",
        2,
        dirs=[
            {"path": "/a", "topics": [{"name": "orders", "partitions": [1, 2]}]},
            {"path": "/b", "topics": [{"name": "orders", "partitions": [0]}]},
        ],
    )
    codes = {each.partition_index: each.error_code for each in moved.results[0].partitions}
    assert codes == {0: OFFLINE, 1: OFFLINE, 2: 0}


@pytest.mark.rules("LR-4")
def test_new_topics(broker: VirtualBroker) -> None:
    """New replicas go to the directory that is left."""
    broker.node(1).fail_disk("/b")
    broker.create_topic("more", partitions=2)

    assert directory_of(broker, "more-0") == directory_of(broker, "more-1") == "/a"


@pytest.mark.rules("LR-4")
def test_so_many_bytes_more(broker: VirtualBroker) -> None:
    """What fits is written; the first batch that does not is refused."""
    client = broker.client("client")
    broker.node(1).fill_disk(after_bytes=200, directory="/b")

    assert [produce(client, 1, bytes(size)) for size in (50, 200)] == [0, OFFLINE]
    assert broker.topic("orders").partition(1).log_end_offset == 1


@pytest.mark.rules("LR-4")
def test_nothing_is_written(broker: VirtualBroker) -> None:
    """A full disk is noticed within five seconds: Kafka writes its high watermarks."""
    broker.node(1).fill_disk(directory="/b")
    broker.pass_time(s=4)
    assert states(broker) == [True, True]
    broker.pass_time(s=1)
    assert states(broker) == [True, False]


@pytest.mark.rules("LR-5")
@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_coordinator(broker: VirtualBroker, is_repeated: bool) -> None:
    """A commit that is not on the disk is NOT_COORDINATOR, and is not there after the restart."""
    client = broker.client("client")
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    for offset in range(3 if is_repeated else 1):
        assert commit(client, offset) == 0
    partition = broker.coordinator("billing").partition
    broker.node(1).fill_disk(directory=directory_of(broker, f"__consumer_offsets-{partition}"))

    assert commit(client, 9) == ErrorCode.NOT_COORDINATOR
    assert client.heartbeat().error_code == ErrorCode.NOT_COORDINATOR
    found = client.find_coordinator("billing").coordinators[0]
    assert (found.node_id, found.error_code) == (-1, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    broker.node(1).heal_disk()
    broker.node(1).restart()
    assert broker.group("billing").offsets == {("orders", 0): 2 if is_repeated else 0}


@pytest.mark.rules("LR-5")
def test_a_parked_join(broker: VirtualBroker) -> None:
    """A member that waits for the others is answered NOT_COORDINATOR when the directory goes."""
    first, second = broker.client("first"), broker.client("second")
    first.join("billing", ["orders"])
    first.sync({first.member_id: {"orders": [0]}})
    waiting = second.start(second.steps.join("billing", ["orders"]))
    partition = broker.coordinator("billing").partition
    broker.node(1).fail_disk(directory_of(broker, f"__consumer_offsets-{partition}"))

    assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("LR-5")
def test_the_leader_of_a_group(broker: VirtualBroker) -> None:
    """The assignment of a group that is not on the disk is NOT_COORDINATOR."""
    client = broker.client("client")
    client.join("billing", ["orders"])
    partition = broker.coordinator("billing").partition
    broker.node(1).fill_disk(directory=directory_of(broker, f"__consumer_offsets-{partition}"))

    assert client.sync({client.member_id: {"orders": [0]}}).error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("LR-5")
def test_a_transaction(broker: VirtualBroker) -> None:
    """Its marker waits for the partition, and is written when the directory is back."""
    client = broker.client("client")
    client.init_producer_id("tx")
    client.add_partitions_to_txn([("orders", 1)])
    client.produce("orders", 1, [b"x"])
    coordinated = directory_of(broker, f"__transaction_state-{broker.transaction_coordinator('tx').partition}")
    client.request(
        "AlterReplicaLogDirs",
        2,
        dirs=[
            {
                "path": coordinated,
                "topics": [{"name": "__transaction_state", "partitions": [0, 1]}],
            },
            {
                "path": "/b" if coordinated == "/a" else "/a",
                "topics": [{"name": "orders", "partitions": [1]}],
            },
        ],
    )
    lost = directory_of(broker, "orders-1")
    broker.node(1).fill_disk(directory=lost)
    assert client.commit_transaction().error_code == 0
    broker.pass_time(s=1)
    assert broker.transaction("tx").state == "PrepareCommit"
    broker.node(1).heal_disk()
    broker.node(1).restart()
    broker.pass_time(s=1)
    assert broker.transaction("tx").state == "CompleteCommit"
    assert broker.topic("orders").view().partitions[1].last_stable_offset == 2


@pytest.mark.rules("LR-6")
def test_the_only_directory() -> None:
    """Without another one the node ends, and does not start again before its disk is healed."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        node = broker.node(1)
        with node.fill_disk():
            assert produce(broker.client("client"), 0) == OFFLINE
            assert node.state == "killed"
            node.start()
            assert node.state == "killed"
        node.start()
        assert (node.state, produce(broker.client("another"), 0)) == ("running", 0)
        with node.fail_disk():
            assert node.state == "killed"


@pytest.mark.rules("LR-4")
def test_a_cluster() -> None:
    """Another replica leads at once; the one that comes back follows, and leads again by an election."""
    with VirtualBroker(nodes=3, config={"log.dirs": "/a,/b"}) as broker:
        topic = broker.create_topic("orders", replication_factor=3)
        partition = topic.partition(0)
        leader = partition.replicas[0]
        replica = next(each for each in broker.node(leader).log_directories if "orders-0" in each.partitions)
        with broker.node(leader).fail_disk(replica.path):
            assert partition.leader == partition.replicas[1]
            assert leader not in partition.in_sync
            assert produce(broker.client("client", node_id=leader), 0) == OFFLINE
            assert produce(broker.client("client", node_id=partition.leader), 0) == 0
        broker.node(leader).restart()
        assert leader in partition.in_sync


@pytest.mark.rules("LR-4")
def test_a_follower() -> None:
    """A follower with a full disk leaves the replicas in sync; the leader answers."""
    with VirtualBroker(nodes=2, config={"log.dirs": "/a,/b"}) as broker:
        partition = broker.create_topic("orders", replication_factor=2).partition(0)
        leader, follower = partition.replicas
        broker.node(follower).fill_disk()
        assert produce(broker.client("client", node_id=leader), 0) == 0
        assert partition.in_sync == [leader]
        assert states(broker, follower).count(False) == 1


@pytest.mark.rules("LR-4")
def test_a_restored_snapshot(broker: VirtualBroker) -> None:
    """Disks are as new after a restore, and every directory is online."""
    broker.node(1).fail_disk("/b")
    broker.restore(broker.snapshot())

    assert states(broker) == [True, True]
    assert set(broker.topic("orders").leaders.values()) == {1}
    assert produce(broker.client("client"), 1) == 0


def test_wrong_arguments(broker: VirtualBroker) -> None:
    """An unknown directory is named beside those that there are, as is a number that cannot be."""
    with pytest.raises(UnknownThing, match=r"node 1 has no log directory '/c', only /a, /b"):
        broker.node(1).fill_disk(directory="/c")
    with pytest.raises(InvalidArgument, match="after_bytes"):
        broker.node(1).fill_disk(after_bytes=-1)
