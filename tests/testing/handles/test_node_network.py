"""Nodes of a running broker that are killed, frozen, cut off, added and removed: sockets and real clients."""

import importlib
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from fakebroker.protocol.errors import InvalidArgument, KafkaError, UnknownThing
from fakebroker.testing.broker import FakeBroker
from tests.support.frames import request
from tests.support.librdkafka import close
from tests.testing.handles.test_node import connected, poll_until, produce, read_all, serving

ASK = request("ApiVersions", 0)
SILENCE_S = 0.05  # nothing comes that could come: the broker's thread was asked in between


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(nodes=3, racks=["r1", "r2", None]) as running:
        yield running


def is_silent(connection: socket.socket, broker: FakeBroker) -> bool:
    """Whether nothing comes although the broker has had its turn."""
    broker._call(lambda: None)
    return not select.select([connection], [], [], SILENCE_S)[0]


def is_answered(connection: socket.socket) -> bool:
    connection.sendall(ASK)
    return len(connection.recv(65536)) > 4


def test_racks_at_construction(broker: FakeBroker) -> None:
    """Each node has its own; how many nodes and racks there are is checked."""
    assert [(node.node_id, node.rack) for node in broker.nodes] == [(1, "r1"), (2, "r2"), (3, None)]
    for nodes in (0, -1, "3", True, 1.5, 1001):
        with pytest.raises(InvalidArgument, match=r"nodes: should be a whole number") as caught:
            FakeBroker(nodes=nodes)  # type: ignore[arg-type]
        assert (caught.value.field, caught.value.value) == ("nodes", nodes)
    for racks in (["a"], "ab", ["a", 1]):
        with pytest.raises(InvalidArgument, match="rack"):
            FakeBroker(nodes=2, racks=racks)  # type: ignore[arg-type]


@pytest.mark.rules("CLU-33")
def test_a_killed_node(broker: FakeBroker) -> None:
    """Its connections end without an answer, its port is refused; after the session timeout it is fenced."""
    node = broker.node(2)
    with closing(connected(broker, 2)) as mine:
        assert is_answered(mine)
        node.kill()
        with suppress(ConnectionResetError):  # or a clean end: nothing was answered
            assert read_all(mine) == b""
    assert (node.state, node.is_alive, node.is_fenced, serving(broker)) == ("killed", False, False, [1, 3])
    node.kill()
    broker._call(lambda: broker._engine.advance_to(broker._engine.now.plus(9000)))
    assert node.is_fenced
    node.start()
    assert (node.state, node.is_fenced, serving(broker)) == ("running", False, [1, 2, 3])
    what = [tuple(recorded.event) for recorded in broker.journal.events("node_changed")]
    assert what == [(2, "killed"), (2, "fenced"), (2, "started")]


@pytest.mark.rules("CLU-40")
def test_a_frozen_node(broker: FakeBroker) -> None:
    """It takes connections and bytes, and answers when it thaws."""
    node = broker.node(2)
    with closing(connected(broker, 2)) as before:
        assert is_answered(before)
        node.freeze()
        before.sendall(ASK)
        with closing(connected(broker, 2)) as during:
            during.sendall(ASK)
            assert is_silent(before, broker)
            assert is_silent(during, broker)
            assert (node.state, node.network) == ("frozen", [])
            node.thaw()
            assert before.recv(65536)
            assert during.recv(65536)
    node.freeze()
    node.restart()
    assert node.state == "running"
    assert serving(broker) == [1, 2, 3]


def test_unreachable(broker: FakeBroker) -> None:
    """What is sent waits until it heals, and so do new connections; the cluster does not notice."""
    with closing(connected(broker, 2)) as before:
        assert is_answered(before)
        with broker.node(2).unreachable() as fault:
            assert (broker.node(2).network, fault.kind) == (["unreachable"], "unreachable")
            before.sendall(ASK)
            with closing(connected(broker, 2)) as during:
                during.sendall(ASK)
                assert is_silent(before, broker)
                assert is_silent(during, broker)
                fault.heal()
                assert before.recv(65536)
                assert during.recv(65536)
        assert is_answered(before)
    assert (broker.node(2).network, broker.node(2).is_fenced) == ([], False)


def test_isolated(broker: FakeBroker) -> None:
    """Nobody gets through, and the cluster fences it; healed, it is back a moment later."""
    node = broker.node(2)
    topic = broker.create_topic("t", partitions=3, replication_factor=3)
    led = [index for index, leader in topic.leaders.items() if leader == 2]
    with closing(connected(broker, 2)) as mine, node.isolate():
        mine.sendall(ASK)
        assert is_silent(mine, broker)
        broker._call(lambda: broker._engine.advance_to(broker._engine.now.plus(9000)))
        assert (node.is_fenced, node.state, node.network) == (True, "running", ["isolated"])
        assert all(topic.leaders[index] != 2 for index in led)
        node.heal()
        assert mine.recv(65536)
    broker._call(lambda: broker._engine.advance_to(broker._engine.now.plus(150)))
    assert not node.is_fenced
    assert all(2 in topic.partition(index).in_sync for index in range(3))


def test_refused_connects(broker: FakeBroker) -> None:
    """New connections are refused, those that are there go on."""
    with closing(connected(broker, 2)) as mine:
        assert is_answered(mine)
        broker.node(2).refuse_connects()
        assert (serving(broker), is_answered(mine)) == ([1, 3], True)
        broker.node(2).restart()
        assert serving(broker) == [1, 3]
        broker.node(2).heal()
        assert serving(broker) == [1, 2, 3]


def test_half_open(broker: FakeBroker) -> None:
    """Bytes vanish on the connections that are there; new ones are served; healed, the old ones end."""
    with closing(connected(broker, 2)) as before:
        assert is_answered(before)
        broker.node(2).half_open()
        before.sendall(ASK)
        assert is_silent(before, broker)
        with closing(connected(broker, 2)) as during:
            assert is_answered(during)
            broker.node(2).heal()
            with suppress(ConnectionResetError):
                assert before.recv(65536) == b""
            assert is_answered(during)


def test_half_open_again(broker: FakeBroker) -> None:
    """Connections that were made since the first time go silent, too; healed once, all of them end."""
    with closing(connected(broker, 2)) as first:
        assert is_answered(first)
        broker.node(2).half_open()
        with closing(connected(broker, 2)) as second:
            assert is_answered(second)
            broker.node(2).half_open()
            assert broker.node(2).network == ["half-open"]
            second.sendall(ASK)
            assert is_silent(second, broker)
            broker.node(2).heal()
            for each in (first, second):
                with suppress(ConnectionResetError):
                    assert each.recv(65536) == b""


def test_everything_is_new_after_a_reset(broker: FakeBroker) -> None:
    """Frozen, unreachable, killed, added and removed nodes: the broker has its three again, and they serve."""
    broker.add_node(rack="r4")
    broker.node(1).freeze()
    broker.node(2).unreachable()
    broker.node(3).kill()
    broker.node(3).remove()
    assert [node.node_id for node in broker.nodes] == [1, 2, 4]
    broker.reset()
    assert [(node.node_id, node.state, node.network) for node in broker.nodes] == [
        (1, "running", []),
        (2, "running", []),
        (3, "running", []),
    ]
    assert serving(broker) == [1, 2, 3]
    for node_id in (1, 2, 3):
        with closing(connected(broker, node_id)) as connection:
            assert is_answered(connection)


def test_a_node_is_added_and_removed(broker: FakeBroker) -> None:
    """It serves on a port of its own, leads what it is given, and goes when it has nothing and does not run."""
    node = broker.add_node(rack="r4")
    assert (node.node_id, node.rack, serving(broker)) == (4, "r4", [1, 2, 3, 4])
    topic = broker.create_topic("t", partitions=4)
    assert sorted(topic.leaders.values()) == [1, 2, 3, 4]
    mine = next(index for index, leader in topic.leaders.items() if leader == 4)
    with pytest.raises(InvalidArgument, match="node 4 cannot be removed, it is running: stop it first"):
        node.remove()
    node.stop()
    with pytest.raises(InvalidArgument, match=f"it has replicas of t-{mine}: reassign them first"):
        node.remove()
    topic.partition(mine).reassign([1])
    node.remove()
    with pytest.raises(UnknownThing, match="there is no node 4, only 1, 2, 3"):
        node.start()
    assert broker.add_node().node_id == 5
    with FakeBroker() as single:
        with pytest.raises(InvalidArgument, match="node 1 cannot be removed, it is the only node"):
            single.node(1).remove()
        with pytest.raises(InvalidArgument, match="rack: should be a text that is not empty, not 7"):
            single.add_node(rack=7)  # type: ignore[arg-type]


def test_bad_arguments_change_nothing(broker: FakeBroker) -> None:
    """Errors name the field, the value, and what would be right."""
    partition = broker.create_topic("t", replication_factor=2).partition(0)
    [leader, follower], [outside] = partition.replicas, [n for n in (1, 2, 3) if n not in partition.replicas]
    partition.set_in_sync([leader])
    wrong: Any = "2"
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: partition.move_leader(outside), "has no replica; replicas are on"),
        (lambda: partition.move_leader(follower), "is not in sync; the in-sync replicas are"),
        (lambda: partition.move_leader(9), "there is no node 9, only 1, 2, 3"),
        (lambda: partition.set_in_sync([follower]), "is always in sync"),
        (lambda: partition.set_in_sync([leader, outside]), "has no live replica of t-0"),
        (lambda: partition.set_in_sync([leader, leader]), "named twice"),
        (lambda: partition.reassign([]), "should have at least 1 element"),
        (lambda: partition.reassign(wrong), "replicas: should be a list, not '2'"),
        (
            lambda: broker.coordinator("g").load(for_s=-1),
            "for_s: should be a number of seconds from 0 to 1000000000, not -1",
        ),
        (lambda: broker.coordinator("g").zombie(for_s=float("nan")), "for_s: should be a finite number, not nan"),
        (lambda: broker.coordinator("g").move(to=wrong), "to: should be a whole number, not '2'"),
        (
            lambda: broker.coordinator("g").zombie(for_s=1, to=broker.coordinator("g").node_id),
            rf"cannot move by node {broker.coordinator('g').node_id}: other in-sync replicas are",
        ),
    )
    for call, text in calls:
        with pytest.raises(InvalidArgument, match=text):
            call()
    assert (partition.leader, partition.in_sync, partition.leader_epoch) == (leader, [leader], 0)
    with pytest.raises(KafkaError, match="has 1 partitions"):
        broker.topic("t").partition(1).leader  # noqa: B018


@pytest.mark.rules("CLU-60")
def test_in_sync_replicas_are_data(broker: FakeBroker) -> None:
    """A test takes replicas out of the in-sync set and puts them back, moves leaders, and gives other replicas."""
    topic = broker.create_topic("t", replication_factor=3, config={"min.insync.replicas": 2})
    partition = topic.partition(0)
    first, second, third = partition.replicas
    partition.set_in_sync([first])
    topic.produce("a")
    assert (partition.high_watermark, partition.log_end_offset) == (0, 1)
    broker.node(third).restart()
    assert partition.in_sync == [first]
    partition.set_in_sync([first, second, third])
    assert partition.high_watermark == 1
    partition.move_leader(second)
    assert (partition.leader, partition.leader_epoch, topic.leaders) == (second, 1, {0: second})


@pytest.mark.rules("CLU-45")
def test_a_look_makes_no_topic(broker: FakeBroker) -> None:
    """Asking where a group would be coordinated shows nothing to clients, and says what then comes true."""
    where = broker.coordinator("g").node_id, broker.coordinator("g").partition
    assert broker.group("g").explain().state == "Dead"
    assert not broker.topic("__consumer_offsets").exists
    broker.coordinator("g").load()
    assert (broker.coordinator("g").node_id, broker.coordinator("g").partition) == where
    broker.coordinator("g").zombie(for_s=60)
    assert broker.coordinator("g").node_id != where[0]


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")
@pytest.mark.rules("CLU-33", "CLU-38")
def test_real_clients_survive_a_kill() -> None:
    """A producer with acks -1 and a group go on when their coordinator, a leader too, is killed and comes back."""
    kafka = importlib.import_module("confluent_kafka")
    with FakeBroker(nodes=3, config={"broker.session.timeout.ms": 500}) as broker:
        first = broker.coordinator("billing").node_id
        broker.create_topic("orders", partitions=3, replication_factor=3)
        common = {"bootstrap.servers": broker.bootstrap, "reconnect.backoff.max.ms": 100, "log_level": 0}
        producer = kafka.Producer({**common, "enable.idempotence": True, "retry.backoff.ms": 20})
        consumer = kafka.Consumer({**common, "group.id": "billing", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        got: list[bytes] = []
        sent: list[bytes] = []
        for number, change in enumerate((None, broker.node(first).kill, broker.node(first).start)):
            if change is not None:
                change()
            values = [b"%d-%d" % (number, each) for each in range(30)]
            produce(producer, values)
            sent += values
            poll_until(consumer, got, len(sent))
        consumer.commit(asynchronous=False)
        assert sorted(set(got)) == sorted(sent)
        assert broker.coordinator("billing").node_id != first
        assert sum(broker.group("billing").offsets.values()) == len(sent)
        close(consumer)
