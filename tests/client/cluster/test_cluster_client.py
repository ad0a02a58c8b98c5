"""The client of a cluster: metadata, offsets and records, whoever leads, and clear errors."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.cluster.asking import GROUP, Coordinator
from fakebroker.client.cluster.cluster_client import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    ClusterClient,
    Fetch,
    Fetched,
)
from fakebroker.client.cluster.errors import (
    AnsweredError,
    NoBroker,
    NoCommonVersion,
    NoSuchPartition,
    OffsetOutOfRange,
    UnreadableAnswer,
)
from fakebroker.client.cluster.links import FIRST_ANSWER_MS
from fakebroker.client.cluster.offset_ranges import EndsEarly, committed_entries, entries_of, read_range
from fakebroker.client.cluster.preparing import await_group, create_topics
from fakebroker.client.cluster.topics import View
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.records.compression import CODEC_NAMES
from fakebroker.protocol.records.markers import build_marker
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_content import records_of
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.types import ReleaseName

FIRST = TopicPartition("orders", 0)


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """Three nodes with a topic of four partitions."""
    with FakeBroker(nodes=3) as broker:
        broker.create_topic("orders", partitions=4, replication_factor=3)
        yield broker


def client_of(broker: FakeBroker, **options: Any) -> ClusterClient:
    return ClusterClient(broker.bootstrap, **{"retry_pause_ms": 1, **options})


def batch_of(values: list[bytes], timestamp_ms: int = 1_000, codec: int = 0) -> bytes:
    return build_batch(plain_records([(None, value) for value in values], timestamp_ms), codec=codec)


def _accepted(server: socket.socket) -> str | None:
    """A connection that somebody has opened to the server, each once."""
    try:
        connection, address = server.accept()
    except BlockingIOError:
        return None
    connection.close()
    return str(address)


def values_in(fetched: Fetched) -> list[bytes | None]:
    return [record.value for record in records_of(fetched.records)]


def test_topics_are_found_by_name_and_all_together(broker: FakeBroker) -> None:
    """A topic comes with its partitions and leaders; one that does not exist is left out and not created."""
    with client_of(broker) as cluster:
        found = cluster.topics(["orders", "nothing"])

        assert list(found) == ["orders"]
        assert found["orders"].partitions == [TopicPartition("orders", index) for index in range(4)]
        leaders = {index: leader.node_id for index, leader in found["orders"].leaders.items() if leader}
        assert leaders == broker.topic("orders").leaders
        assert "orders" in cluster.topics()
        assert "nothing" not in cluster.topics()
        with pytest.raises(NoSuchPartition, match="there is no topic 'nothing'"):
            cluster.partitions(["orders", "nothing"])


@pytest.mark.parametrize("as_release", ["2.1", "2.8", "3.6", "4.3"])
def test_what_is_produced_is_fetched_in_every_release(as_release: ReleaseName) -> None:
    """Records written at every partition are read from there, by names and by topic ids, in every codec."""
    with FakeBroker(nodes=2, as_release=as_release) as broker:
        broker.create_topic("orders", partitions=2)
        with client_of(broker) as cluster:
            for index in range(2):
                partition = TopicPartition("orders", index)
                values = [b"%d-%d" % (index, codec) for codec in range(len(CODEC_NAMES))]
                offsets = [
                    cluster.produce(partition, batch_of([value], codec=codec)) for codec, value in enumerate(values)
                ]

                assert offsets == list(range(len(CODEC_NAMES)))
                assert values_in(cluster.fetch(Fetch(partition, 0))) == values
                assert [record.value for record in broker.topic("orders").records(index)] == values


def test_offsets_by_time_are_the_brokers(broker: FakeBroker) -> None:
    """Earliest, latest, and the first offset of a time; -1 where there is no record as new."""
    broker.topic("orders").produce(b"a", timestamp_ms=1_000)
    broker.topic("orders").produce(b"b", timestamp_ms=2_000)
    with client_of(broker) as cluster:
        times = {"earliest": EARLIEST, "latest": LATEST, "1000": 1_000, "1001": 1_001, "2001": 2_001}
        found = {name: cluster.offsets({FIRST: time_ms})[FIRST].offset for name, time_ms in times.items()}
        every = cluster.offsets(dict.fromkeys(cluster.partitions(["orders"]), LATEST), READ_COMMITTED)

    assert found == {"earliest": 0, "latest": 2, "1000": 0, "1001": 1, "2001": -1}
    assert [each.offset for each in every.values()] == [2, 0, 0, 0]


def test_an_answer_without_a_partition_is_an_error(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the partition whose offset was asked for."""
    broker.create_topic("asked")
    asked = TopicPartition("asked", 0)
    with client_of(broker) as cluster:
        cluster.offsets({asked: 0})
        wait = cluster._links.wait

        def wait_for_less(*arguments: Any) -> Any:
            answer = wait(*arguments)
            if isinstance(answer, ListOffsetsResponse):
                answer.topics = []
            return answer

        monkeypatch.setattr(cluster._links, "wait", wait_for_less)
        with pytest.raises(UnreadableAnswer, match="offsets of asked-0: the answer does not have this partition"):
            cluster.offsets({asked: 0})


def test_a_leader_that_moves_is_followed(broker: FakeBroker) -> None:
    """Every kind of request that meets an old leader asks who leads now, and goes on there."""
    partition = broker.topic("orders").partition(0)
    with client_of(broker) as cluster:
        cluster.produce(FIRST, batch_of([b"a"]))
        questions: tuple[tuple[bytes, Callable[[], bool]], ...] = (
            (b"b", lambda: cluster.offsets({FIRST: LATEST})[FIRST].offset == 1),
            (b"c", lambda: values_in(cluster.fetch(Fetch(FIRST, 0))) == [b"a", b"b"]),
            (b"d", lambda: cluster.topics(["orders"])["orders"].leaders[0] is not None),
        )
        for value, ask in questions:
            partition.move_leader(partition.leader % 3 + 1)
            assert ask()
            partition.move_leader(partition.leader % 3 + 1)
            cluster.produce(FIRST, batch_of([value]))

    assert [record.value for record in broker.topic("orders").records(0)] == [b"a", b"b", b"c", b"d"]


def test_a_broker_that_stops_is_replaced(broker: FakeBroker) -> None:
    """When the leader goes away, and with it the first of the bootstrap servers, reading goes on at the next leader."""
    broker.topic("orders").produce(b"a")
    with client_of(broker) as cluster:
        assert values_in(cluster.fetch(Fetch(FIRST, 0))) == [b"a"]
        broker.node(broker.topic("orders").leaders[0]).stop()
        assert values_in(cluster.fetch(Fetch(FIRST, 0))) == [b"a"]
        assert cluster.offsets({FIRST: LATEST})[FIRST].offset == 1


def test_errors_say_what_and_where(broker: FakeBroker) -> None:
    """What cannot be has an error with the partition, the offset and Kafka's name of it; retries have an end."""
    with client_of(broker, retries=2) as cluster:
        with pytest.raises(NoSuchPartition, match="topic 'orders' has no partition 9"):
            cluster.offsets({TopicPartition("orders", 9): LATEST})
        with pytest.raises(NoSuchPartition, match="there is no topic 'gone'"):
            cluster.fetch(Fetch(TopicPartition("gone", 0), 0))
        with pytest.raises(OffsetOutOfRange, match="fetch of orders-0 at offset 7: OFFSET_OUT_OF_RANGE"):
            cluster.fetch(Fetch(FIRST, 7))
        fault = broker.fault(api="ListOffsets", error="NOT_LEADER_OR_FOLLOWER")
        with pytest.raises(AnsweredError, match="offsets of orders-0: NOT_LEADER_OR_FOLLOWER"):
            cluster.offsets({FIRST: LATEST})
        assert fault.hits == 3


def test_a_bootstrap_without_a_broker_is_said_at_once() -> None:
    """An address that nobody listens on, and one that is none."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        port = taken.getsockname()[1]
        with (
            ClusterClient(f"127.0.0.1:{port}", retries=0) as cluster,
            pytest.raises(NoBroker, match=f"no broker answers at 127.0.0.1:{port}"),
        ):
            cluster.topics()
    with pytest.raises(InvalidArgument, match="'localhost' is not HOST:PORT"):
        ClusterClient("localhost")


def test_retries_end_in_time(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tries there may be, they take no longer than all pauses and one timeout."""
    opened: list[object] = []
    connect = TcpDriver.open
    with client_of(broker, timeout_ms=100, retries=1000, retry_pause_ms=0) as cluster:
        cluster.topics()
        for node in broker.nodes:
            node.freeze()
        monkeypatch.setattr(TcpDriver, "open", lambda *given: (opened.append(given), connect(*given))[1])
        with pytest.raises(NoBroker, match="gave no answer"):
            cluster.topics()
    assert len(opened) < 10


def test_a_port_that_was_never_heard_of_is_asked_once() -> None:
    """What accepts connections and says nothing is not waited for as for an answer, and not tried again."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            ClusterClient(address, timeout_ms=20, retries=100, retry_pause_ms=10_000) as cluster,
            pytest.raises(NoBroker, match=f"{address} accepts connections and gives no answer within 20 ms"),
        ):
            cluster.topics()
        silent.setblocking(False)
        assert sum(1 for _ in iter(lambda: _accepted(silent), None)) == 1
    assert FIRST_ANSWER_MS <= 5_000


def test_a_host_that_drops_what_comes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is not accepted in time is an error that says so, with the time it was given."""
    given_s: list[float] = []

    def create_connection(address: object, timeout_s: float) -> socket.socket:
        given_s.append(timeout_s)
        raise TimeoutError("timed out")

    monkeypatch.setattr("fakebroker.client.scripted.tcp_driver.socket.create_connection", create_connection)
    with (
        ClusterClient("dropped:9092", retry_pause_ms=10_000) as cluster,
        pytest.raises(NoBroker, match="dropped:9092 accepts no connection within 5000 ms"),
    ):
        cluster.topics()
    assert given_s == [5.0]


def test_the_port_of_a_controller_is_reported(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that answers ApiVersions without Metadata is no broker's; other APIs may be missing at a broker."""
    with client_of(broker) as cluster:
        cluster.topics()
        monkeypatch.delitem(cluster._links._link(broker.nodes[0].address).served, ListOffsetsRequest.api_key)
        with pytest.raises(NoCommonVersion, match=r"does not serve ListOffsets$"):
            cluster._links.version(broker.nodes[0].address, ListOffsetsRequest)
        monkeypatch.delitem(cluster._links._link(broker.nodes[0].address).served, MetadataRequest.api_key)
        with pytest.raises(NoCommonVersion, match="is not a broker's port: it does not serve Metadata, as the port of"):
            cluster.topics()


def test_each_role_is_asked(broker: FakeBroker) -> None:
    """A node, the controller, a leader and a coordinator each answer for themselves, also after they have moved."""
    group = Coordinator(GROUP, "billing")
    request = OffsetFetchRequest(group_id="billing", topics=None)
    with client_of(broker) as cluster:
        for node in broker.nodes:
            cluster.ask(ListGroupsRequest(), node.node_id)
            assert broker.journal.requests("ListGroups")[-1].node_id == node.node_id
        assert create_topics(cluster, [CreatableTopic(name="new", num_partitions=1, replication_factor=1)]) == ["new"]
        assert cluster.ask(request, group, 7).error_code == 0
        before = broker.coordinator("billing").node_id
        broker.coordinator("billing").move(before % 3 + 1)
        assert cluster.ask(request, group, 7).error_code == 0
        assert {one.node_id for one in broker.journal.requests("OffsetFetch")} == {before, before % 3 + 1}
        with pytest.raises(NoBroker, match="there is no broker 9 in the cluster"):
            cluster.ask(ListGroupsRequest(), 9)


def test_an_answer_of_not_yet_is_asked_again(broker: FakeBroker) -> None:
    """Up to the last try; the error then names the code and what was asked for."""
    with client_of(broker, retries=2) as cluster:
        fault = broker.fault(api="OffsetFetch", error="COORDINATOR_LOAD_IN_PROGRESS", times=2)
        assert await_group(cluster, "billing").error_code == 0
        assert fault.hits == 2
        broker.fault(api="OffsetFetch", error="COORDINATOR_LOAD_IN_PROGRESS")
        with pytest.raises(AnsweredError, match="OffsetFetch of 'billing': COORDINATOR_LOAD_IN_PROGRESS"):
            await_group(cluster, "billing")


def test_a_topic_that_is_refused_is_reported(broker: FakeBroker) -> None:
    """With Kafka's words; one that exists is no error, and is not among the new ones."""
    with client_of(broker) as cluster:
        assert create_topics(cluster, [CreatableTopic(name="orders", num_partitions=1, replication_factor=1)]) == []
        with pytest.raises(AnsweredError, match="topic 'a/b' cannot be created: INVALID_TOPIC_EXCEPTION"):
            create_topics(cluster, [CreatableTopic(name="a/b", num_partitions=1, replication_factor=1)])


def test_a_topic_that_gets_its_leader_late_is_awaited(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was known of its partitions is asked again until there is one."""
    broker.create_topic("late", partitions=2)
    leader = broker.topic("late").leaders[0]
    first, other = broker.node(leader), broker.node(leader % 3 + 1).address
    first.stop()
    pass_time = TcpDriver.pass_time

    def start_in_a_pause(driver: TcpDriver, ms: int, until: Callable[[], bool] | None = None) -> bool:
        if until is None:
            first.start()
        return pass_time(driver, 0 if until is None else ms, until)

    monkeypatch.setattr(TcpDriver, "pass_time", start_in_a_pause)
    with ClusterClient(f"{other.host}:{other.port}") as cluster:
        assert cluster.partition_count("late") == 2


def test_a_topic_that_is_just_being_created_is_awaited() -> None:
    """Kafka answers LEADER_NOT_AVAILABLE and no partition: that is no topic without partitions."""
    answer = MetadataResponse(topics=[MetadataResponseTopic(name="new", error_code=ErrorCode.LEADER_NOT_AVAILABLE)])
    with pytest.raises(AnsweredError, match="topic 'new': LEADER_NOT_AVAILABLE") as error:
        View().take(answer, None, all_topics=False)
    assert error.value.may_pass


def test_a_topic_is_created_only_for_who_asks_for_it() -> None:
    """With `creates_topics`, Produce to a new topic creates it, as for a producer; without, it is an error."""
    with FakeBroker() as broker:
        new = TopicPartition("new", 0)
        with client_of(broker) as cluster, pytest.raises(NoSuchPartition):
            cluster.produce(new, batch_of([b"a"]))
        assert not broker.topic("new").exists
        with ClusterClient(broker.bootstrap, retry_pause_ms=1, creates_topics=True) as cluster:
            assert cluster.produce(new, batch_of([b"a"])) == 0


def test_a_range_is_read_whole_in_small_pieces(broker: FakeBroker) -> None:
    """Every record between two offsets comes once, though every Fetch brings one batch, and the leader moves."""
    topic = broker.topic("orders")
    for number in range(40):
        topic.produce(b"%d" % number)
    found: list[bytes | None] = []
    with client_of(broker) as cluster:
        for count, chunk in enumerate(read_range(cluster, Fetch(FIRST, 3, max_bytes=1), 37)):
            found += values_in(chunk.fetched)
            if count == 10:
                topic.partition(0).move_leader(topic.leaders[0] % 3 + 1)

    assert found == [b"%d" % number for number in range(3, 37)]


def test_an_empty_range_asks_for_nothing(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Fetch at the end of a log would be held back, and with it all that is asked of that broker next."""
    with client_of(broker) as cluster:
        monkeypatch.setattr(cluster, "begin_fetch", lambda fetch: pytest.fail(f"it asks for {fetch}"))

        assert list(read_range(cluster, Fetch(FIRST, 0), 0)) == []


def test_a_range_that_ends_early_is_an_error(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading to an offset that the log does not reach ends, and says where."""
    monkeypatch.setattr("fakebroker.client.cluster.offset_ranges.WAIT_MS", 1)
    broker.topic("orders").produce(b"a")
    with (
        client_of(broker) as cluster,
        pytest.raises(EndsEarly, match="orders-0 ends at offset 1, before offset 2"),
    ):
        list(read_range(cluster, Fetch(FIRST, 0), 2))


def test_only_records_of_committed_transactions_are_read() -> None:
    """Markers are never records; a batch is left out from where the answer says that its transaction was aborted."""

    def batch(offset: int, producer_id: int, value: bytes) -> bytes:
        return build_batch(
            plain_records([(None, value)], 0, offset), transactional=True, producer_id=producer_id, producer_epoch=0
        )

    def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
        made = build_marker(producer_id, 0, commit=commit, coordinator_epoch=0, timestamp_ms=0)
        return offset.to_bytes(8, "big") + made[8:]

    log = [
        batch(0, 7, b"kept"),
        batch(1, 8, b"aborted"),
        marker(2, 7, commit=True),
        batch(3, 7, b"aborted too"),
        marker(4, 8, commit=False),
        marker(5, 7, commit=False),
        batch(6, 8, b"kept again"),
    ]
    fetched = Fetched(b"".join(log), 7, 7, 0, [(8, 1), (7, 3)])
    starts = [position for position, *_ in entries_of(fetched.records)]

    assert [position for position, *_ in committed_entries(fetched)] == [starts[0], starts[6]]
