"""Stories about brokers that have very much of something: what clients do with it, and what falls due (`World`)."""

from collections.abc import Callable
from typing import Any

from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages import fetch as fetch_messages
from fakebroker.protocol.wire.messages import incremental_alter_configs, share_acknowledge, share_fetch
from fakebroker.protocol.wire.messages import streams_group_heartbeat as streams_messages
from tests.support.engine import Client
from tests.support.frames import JOIN
from tests.support.large_states import MEMBER, TIMEOUT_MS, Naming, Story, World
from tests.support.share_fetches import parts_of

FIRST, NULL = Naming.FIRST, Naming.NULL
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
GROUP_RESOURCE = 32


def names(world: World) -> list[str]:
    """The topics' names."""
    return [topic.name for topic in world.topics]


def delete_topics(world: World, client: Client, label: str) -> None:
    """Delete all topics, by their ids: a name beside an id is refused."""
    answer = world.ask(client, "DeleteTopics", label, name=None)
    assert {each.error_code for each in answer.responses} == {0}


# -- records -----------------------------------------------------------------------------------------------------------


def fetch_sessions(world: World) -> None:
    """A session of all partitions: opened, continued, woken, ended by time, cut down to nothing."""
    client, other = world.client(), world.client()
    session_id = world.ask(client, "Fetch", "opens a session", session_id=0, session_epoch=0, max_wait_ms=0).session_id
    assert session_id
    epoch = 0

    def again(label: str, **fields: Any) -> Any:
        nonlocal epoch
        epoch += 1
        return world.ask(
            client, "Fetch", label, **{"session_id": session_id, "session_epoch": epoch, "topics": [], **fields}
        )

    assert again("names none", max_wait_ms=0).error_code == 0
    assert again("waits") is None
    world.ask(other, "Produce", "wakes a Fetch", FIRST)
    assert client.answer("Fetch", world.newest("Fetch")) is not None
    assert again("waits", min_bytes=1 << 19) is None
    world.wait("the time of a Fetch is up", 1_000)
    assert client.answer("Fetch", world.newest("Fetch")) is not None
    world.ask(other, "Produce", "to all")
    again("all have records")
    forgotten = [
        fetch_messages.ForgottenTopic(topic_id=topic.id, partitions=list(range(len(topic.partitions))))
        for topic in world.topics
    ]
    again("forgets all", forgotten_topics_data=forgotten, max_wait_ms=0)


def fetch_sessions_of_unknown(world: World) -> None:
    """A session of partitions that were deleted: each of its Fetches answers an error for all of them."""
    client = world.client()
    session_id = world.ask(client, "Fetch", "opens a session", session_id=0, session_epoch=0, max_wait_ms=0).session_id
    delete_topics(world, client, "of a session")
    for epoch in (1, 2):
        fields = {"session_id": session_id, "session_epoch": epoch, "topics": [], "max_wait_ms": 0}
        answer = world.ask(client, "Fetch", "of deleted topics", **fields)
        assert sum(len(each.partitions) for each in answer.responses) == world.entries


def waiting_fetches(world: World) -> None:
    """Very many clients whose Fetches wait for the same: for a record, for the end of their time."""
    clients = [world.client() for _ in range(world.entries)]

    def wait() -> None:
        for client in clients:
            answer = world.ask(client, "Fetch", "waits", FIRST, session_id=0, session_epoch=-1, fetch_offset=0)
            assert answer is None

    wait()
    world.wait("the time of many Fetches is up", 1_000)
    assert None not in [client.answer("Fetch", world.newest("Fetch")) for client in clients]
    wait()
    world.ask(world.client(), "Produce", "wakes many Fetches", FIRST)
    assert None not in [client.answer("Fetch", world.newest("Fetch")) for client in clients]


def records(world: World) -> None:
    """Logs that are made, written, looked at, moved, cut and deleted."""
    client = world.client()
    assert world.ask(client, "Fetch", "without session, waits", session_id=0, session_epoch=-1) is None
    world.hang_up(client, "a client whose Fetch waits goes away")
    client = world.client()
    world.ask(client, "Produce", "to all")
    world.ask(client, "Fetch", "opens a session, all have records", session_id=0, session_epoch=0)
    for name in (
        "ListOffsets", "OffsetForLeaderEpoch", "DescribeProducers", "AlterReplicaLogDirs", "DeleteRecords",
        "AlterPartitionReassignments",
    ):  # fmt: skip
        world.ask(client, name, "logs have records")
    for name in ("DescribeLogDirs", "ElectLeaders", "ListPartitionReassignments", "Metadata"):
        world.ask(client, name, "names all")
        world.ask(client, name, "null", NULL)
    world.wait("retention", HOUR_MS)
    delete_topics(world, client, "logs have records")
    world.wait("topics were deleted", HOUR_MS)


# -- share groups ------------------------------------------------------------------------------------------------------


def share_offsets(world: World) -> None:
    """Start offsets of a group without members."""
    client = world.client()
    for _ in range(2):
        assert world.ask(client, "AlterShareGroupOffsets").error_code == 0
    world.ask(client, "DescribeShareGroupOffsets")
    world.ask(client, "DescribeShareGroupOffsets", "null", NULL)
    for name in ("ReadShareGroupState", "ReadShareGroupStateSummary", "WriteShareGroupState"):
        world.ask(client, name)
    world.ask(client, "InitializeShareGroupState", state_epoch=5)
    world.ask(client, "DeleteShareGroupOffsets")
    assert world.ask(client, "AlterShareGroupOffsets").error_code == 0
    assert world.ask(client, "DeleteGroups", "of share offsets").results[0].error_code == 0
    assert world.ask(client, "AlterShareGroupOffsets").error_code == 0
    world.ask(client, "DeleteShareGroupState")
    delete_topics(world, client, "with share offsets")
    world.wait("topics with share offsets were deleted", HOUR_MS)


def join_share_group(world: World, client: Client) -> None:
    """Until its share partitions are initialized and assigned."""
    epoch = 0
    for topics in (names(world), None, None):
        answer = world.ask(client, "ShareGroupHeartbeat", member_epoch=epoch, subscribed_topic_names=topics)
        assert answer.error_code == 0
        epoch = answer.member_epoch
        world.wait("share partitions are initialized", 1_000)


class ShareReader:
    """A member that reads all partitions in a share session."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client = world.client()
        self.epoch = 0
        join_share_group(world, self.client)

    def fetch(self, label: str, **fields: Any) -> Any:
        """A ShareFetch that names what `fields` say, which is nothing if it is not the first."""
        given: dict[str, Any] = {
            "share_session_epoch": self.epoch,
            "max_wait_ms": 0,
            "max_bytes": 1 << 30,
            "max_records": 1 << 20,
        }
        given |= {"acknowledgement_batches": []} if self.epoch == 0 else {"topics": []}
        self.epoch += 1
        return self.world.ask(self.client, "ShareFetch", label, **{**given, **fields})

    def acknowledge(self, name: str, label: str, batch: Any) -> None:
        """Say of the first record of all partitions what became of it."""
        given: dict[str, Any] = {
            "share_session_epoch": self.epoch,
            "max_wait_ms": 0,
            "acknowledgement_batches": [batch],
        }
        self.epoch += 1
        answer = self.world.ask(self.client, name, label, **given)
        codes = {each.acknowledge_error_code if name == "ShareFetch" else each.error_code for each in parts_of(answer)}
        assert codes == {0}


def waiting_share_fetches(world: World) -> None:
    """Very many clients, of a share group each, whose ShareFetches wait for the same record, and get it."""
    clients = [world.client() for _ in range(world.entries)]
    for number, client in enumerate(clients):
        group_id = f"g{number}"
        world.ask(client, "AlterShareGroupOffsets", "of one", FIRST, group_id=group_id, start_offset=0)
        fields: dict[str, Any] = {"share_session_epoch": 0, "max_wait_ms": 500}
        fields |= {"min_bytes": 1, "max_bytes": 1_000, "max_records": 1}
        fields |= {"group_id": group_id, "acknowledgement_batches": []}
        assert world.ask(client, "ShareFetch", "waits", FIRST, **fields) is None
    world.wait("share partitions are loaded", 1)
    world.ask(world.client(), "Produce", "wakes many ShareFetches", FIRST)
    answers = [client.answer("ShareFetch", world.newest("ShareFetch")) for client in clients]
    assert [len(part.acquired_records) for answer in answers for part in parts_of(answer)] == [1] * world.entries


def share_session(world: World) -> None:
    """A session of all partitions: opened, continued, woken; records are acquired, acknowledged, locked too long."""
    reader, other = ShareReader(world), world.client()
    assert len(parts_of(reader.fetch("opens a session"))) == world.entries
    reader.fetch("names none")
    assert reader.fetch("waits", max_wait_ms=500) is None
    world.wait("the time of a ShareFetch is up", 1_000)
    assert reader.client.answer("ShareFetch", world.newest("ShareFetch")) is not None
    assert reader.fetch("waits", max_wait_ms=500) is None
    world.ask(other, "Produce", "wakes a ShareFetch", FIRST)
    assert reader.client.answer("ShareFetch", world.newest("ShareFetch")) is not None
    world.ask(other, "Produce", "to all")
    assert len(parts_of(reader.fetch("acquires"))) == world.entries
    world.ask(other, "DescribeShareGroupOffsets", "null", NULL)
    world.ask(other, "ShareGroupDescribe", "of many partitions")
    released = share_acknowledge.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[2])
    accepted = share_fetch.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    reader.acknowledge("ShareAcknowledge", "releases", released)
    reader.fetch("acquires")
    world.wait("locks run out", 35_000)
    reader.fetch("acquires")
    reader.acknowledge("ShareFetch", "acknowledges", accepted)


def share_session_ends(world: World) -> None:
    """By a request and by a client that goes away, with records of all partitions acquired; topics are deleted."""
    reader, other = ShareReader(world), world.client()
    reader.fetch("opens a session")
    world.ask(other, "Produce", "to all")
    assert len(parts_of(reader.fetch("acquires"))) >= world.entries - 1
    nothing = {"min_bytes": 0, "max_bytes": 0, "max_records": 0}
    assert reader.fetch("closes the session", share_session_epoch=-1, **nothing).error_code == 0
    reader = ShareReader(world)
    reader.fetch("opens a session")
    world.hang_up(reader.client, "a client with a share session goes away")
    reader = ShareReader(world)
    reader.fetch("opens a session")
    world.wait("a member of a share group is fenced", 100_000)
    world.ask(other, "DeleteRecords", "of a share session")
    reader.fetch("logs begin later")
    delete_topics(world, other, "of a share session")
    world.wait("topics of a share session were deleted", HOUR_MS)
    reader.fetch("topics are gone")


# -- groups and offsets ------------------------------------------------------------------------------------------------


def offsets(world: World) -> None:
    """A group with offsets of all partitions."""
    client = world.client()
    world.ask(client, "OffsetCommit")
    world.ask(client, "OffsetFetch", member_id=None)
    world.ask(client, "OffsetFetch", "null", NULL, member_id=None)
    world.ask(client, "OffsetDelete")
    world.ask(client, "OffsetCommit")
    world.ask(client, "DescribeGroups")
    assert world.ask(client, "DeleteGroups", "of offsets").results[0].error_code == 0
    world.ask(client, "OffsetCommit")
    delete_topics(world, client, "with offsets")
    world.wait("topics with offsets were deleted", HOUR_MS)


def consumer_group(world: World) -> None:
    """Members that join one after another, one by a pattern, until they are fenced."""
    client = world.client()

    def heartbeat(member: int, epoch: int, **fields: Any) -> Any:
        given = {"member_id": MEMBER.format(member), "member_epoch": epoch, "topic_partitions": None, **fields}
        return world.ask(client, "ConsumerGroupHeartbeat", "", NULL, **given)

    first = heartbeat(1, 0, subscribed_topic_names=names(world), topic_partitions=[])
    assert first.error_code == 0
    heartbeat(1, first.member_epoch)
    heartbeat(2, 0, subscribed_topic_names=names(world), topic_partitions=[])
    heartbeat(1, first.member_epoch)
    world.ask(client, "ConsumerGroupDescribe", "of many partitions")
    heartbeat(3, 0, subscribed_topic_regex="t.*", topic_partitions=[])
    world.wait("a pattern is resolved", 20_000)
    delete_topics(world, client, "of a consumer group")
    world.wait("members of a consumer group are fenced", 10 * TIMEOUT_MS)


def streams_group(world: World) -> None:
    """A member with a task for each partition, another one that joins, and both are fenced."""
    client = world.client()
    parts = [streams_messages.Subtopology(subtopology_id=name, source_topics=[name]) for name in names(world)]
    topology = streams_messages.Topology(epoch=1, subtopologies=parts)

    def heartbeat(member: int, epoch: int, label: str, **fields: Any) -> Any:
        given = {"member_id": MEMBER.format(member), "member_epoch": epoch, "process_id": f"p{member}", **fields}
        answer = world.ask(client, "StreamsGroupHeartbeat", label, NULL, **given)
        assert answer.error_code == 0
        return answer

    joins: dict[str, Any] = {"topology": topology, "active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    heartbeat(1, 0, "first", **joins)
    world.wait("the initial delay of a streams group is over", 4_000)
    tasks = heartbeat(1, 1, "gets tasks").active_tasks
    world.wait("a long target is computed", 1)
    tasks = tasks or heartbeat(1, 1, "gets tasks").active_tasks
    assert sum(len(each.partitions) for each in tasks) == world.entries
    heartbeat(2, 0, "second", **joins)
    heartbeat(1, 2, "revokes")
    world.ask(client, "StreamsGroupDescribe", "of many tasks")
    world.wait("members of a streams group are fenced", 10 * TIMEOUT_MS)


def standby_tasks(world: World) -> None:
    """Three members of a streams group, each of which has a task or a standby for each partition."""
    cluster, client = world.lab.cluster, world.client()
    cluster.topics.create("c", max(len(topic.partitions) for topic in world.topics), 1)
    configs = [
        incremental_alter_configs.AlterableConfig(name="streams.num.standby.replicas", config_operation=0, value="2")
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name="g", configs=configs
    )
    world.ask(client, "IncrementalAlterConfigs", "standbys", resources=[resource])
    parts = [
        streams_messages.Subtopology(
            subtopology_id=name,
            source_topics=[name],
            state_changelog_topics=[streams_messages.TopicInfo(name="c", partitions=0, replication_factor=1)],
        )
        for name in names(world)
    ]
    joins: dict[str, Any] = {"topology": streams_messages.Topology(epoch=1, subtopologies=parts)}
    joins |= {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "member_epoch": 0}
    for member in range(3):
        fields = {**joins, "member_id": MEMBER.format(member), "process_id": f"p{member}"}
        assert world.ask(client, "StreamsGroupHeartbeat", "joins", NULL, **fields).error_code == 0
    world.wait("tasks and standbys are assigned", 4_000)
    group = cluster.nodes[1].coordinator.shard("g", world.lab.engine.now).group("g")
    assert isinstance(group, StreamsGroup)
    target = group.target
    assert [sum(map(len, each)) for each in target.values()] == [world.entries] * 3


def many_groups(world: World) -> None:
    """Simple groups, each with an offset and a config."""
    client = world.client()
    world.groups = [f"g{number}" for number in range(world.entries)]
    for group in world.groups:
        world.ask(client, "OffsetCommit", "of one", FIRST, group_id=group)
    for name in ("ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"):
        world.ask(client, name, "many groups")
    world.ask(client, "FindCoordinator", "many groups")
    world.wait("groups expire", 8 * DAY_MS)


def members_of(name: str) -> Story:
    """A group of a modern protocol with many members, who are fenced at once."""

    def story(world: World) -> None:
        client = world.client()
        for number in range(world.entries):
            fields: dict[str, Any] = {
                "member_id": MEMBER.format(number),
                "member_epoch": 0,
                "subscribed_topic_names": ["t0"],
            }
            answer = world.ask(client, f"{name}GroupHeartbeat", "many members", topic_partitions=[], **fields)
            assert answer.error_code == 0
        world.wait("the target of many members is stored", 1)
        world.ask(client, f"{name}GroupDescribe", "many members")
        world.wait(f"many members of a {name} group are fenced", 10 * TIMEOUT_MS)

    story.__name__ = f"{name.lower()}_members"
    return story


def classic_members(world: World) -> None:
    """A classic group with many members, whose sessions end."""
    for _ in range(world.entries):
        client = world.client()
        world.ask(client, "JoinGroup", "many members", version=3, **JOIN)
    world.wait("a classic group with many members rebalances", 10 * TIMEOUT_MS)
    world.ask(world.client(), "DescribeGroups", "many members")


# -- transactions ------------------------------------------------------------------------------------------------------


def begin_transaction(world: World, client: Client, transactional_id: str, naming: Naming) -> None:
    """A producer with a transaction of these partitions."""
    begun = world.ask(client, "InitProducerId", transactional_id=transactional_id)
    assert begun.error_code == 0
    world.facts |= {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
    world.facts["transactional_id"] = transactional_id
    answer = world.ask(client, "AddPartitionsToTxn", naming.name, naming, version=3)
    results = answer.results_by_topic_v3_and_below
    assert {each.partition_error_code for topic in results for each in topic.results_by_partition} == {0}


def transaction(world: World) -> None:
    """One of all partitions, which ends by a request and by time."""
    client = world.client()
    begin_transaction(world, client, "x", Naming.ALL)
    world.ask(client, "DescribeTransactions", "of many partitions")
    world.ask(client, "ListTransactions", "of many partitions", duration_filter=-1)
    world.ask(client, "DescribeProducers", "in a transaction")
    assert world.ask(client, "EndTxn", version=3).error_code == 0
    world.wait("a transaction of many partitions is completed", TIMEOUT_MS)
    world.ask(client, "WriteTxnMarkers")
    begin_transaction(world, client, "x", Naming.ALL)
    world.ask(client, "TxnOffsetCommit")
    world.wait("a transaction of many partitions times out", 3 * TIMEOUT_MS)
    begin_transaction(world, client, "x", Naming.ALL)
    delete_topics(world, client, "in a transaction")
    world.wait("topics in a transaction were deleted", HOUR_MS)


def many_transactions(world: World) -> None:
    """Of many producers, each with a record of the same partition; they end by time."""
    client = world.client()
    world.transactions = [f"x{number}" for number in range(world.entries)]
    for each in world.transactions:
        begin_transaction(world, client, each, FIRST)
        batch = build_batch(
            [Record(0, 0, b"k", b"v")], producer_id=world.facts["producer_id"], producer_epoch=0, base_sequence=0,
            transactional=True,
        )  # fmt: skip
        world.ask(client, "Produce", "in a transaction", FIRST, records=batch)
    world.facts.pop("transactional_id")
    world.ask(client, "DescribeProducers", "many producers", FIRST)
    world.ask(client, "ListTransactions", "many", duration_filter=-1)
    world.ask(client, "DescribeTransactions", "many")
    world.wait("many transactions time out", 3 * TIMEOUT_MS)
    fetch = {"isolation_level": 1, "session_id": 0, "session_epoch": -1}
    world.ask(client, "Fetch", "many aborted transactions", FIRST, **fetch)
    world.wait("many producers expire", 8 * DAY_MS)


OF_PARTITIONS: tuple[Story, ...] = (
    fetch_sessions, fetch_sessions_of_unknown, records, share_offsets, share_session, share_session_ends, offsets,
    consumer_group, streams_group, standby_tasks, transaction,
)  # fmt: skip
OF_OTHERS: tuple[Story, ...] = (
    many_groups, waiting_fetches, members_of("Consumer"), members_of("Share"), classic_members, many_transactions,
    waiting_share_fetches,
)  # fmt: skip


def asks_for_all(name: str, naming: Naming) -> Callable[[World], None]:
    """The story of one request to a broker that has only topics."""
    return lambda world: world.ask(world.client(), name, naming.name, naming)
