"""A cluster with some of everything, and what it answers: to compare it with its clone, or with a copy of its disk.

fill("127.0.0.1:9092")
before = answers("127.0.0.1:9092")
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from fakebroker.client.cluster.asking import GROUP, Coordinator
from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, READ_COMMITTED, ClusterClient, Fetch
from fakebroker.client.cluster.links import addresses_of
from fakebroker.client.cluster.offset_ranges import committed_entries, read_range
from fakebroker.client.cluster.preparing import await_group, create_topics
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.client.streams_group_steps import Subtopology
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.compression import CODEC_NAMES
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_content import records_of
from fakebroker.protocol.schema.entities import values_of
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from fakebroker.protocol.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest
from fakebroker.protocol.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.messages.share_group_describe import ShareGroupDescribeRequest
from fakebroker.protocol.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from fakebroker.protocol.wire.registry import newest_for_one
from tests.support.eventually import eventually

TOPICS: Final = {"orders": 3, "payments": 2, "events": 1}
NEWER_KINDS: Final = ("consumer", "share", "streams")
_DESCRIBE: Final[dict[str, Any]] = {
    "classic": lambda group_id: DescribeGroupsRequest(groups=[group_id]),
    "consumer": lambda group_id: ConsumerGroupDescribeRequest(group_ids=[group_id]),
    "share": lambda group_id: ShareGroupDescribeRequest(group_ids=[group_id]),
    "streams": lambda group_id: StreamsGroupDescribeRequest(group_ids=[group_id]),
}


def fill(bootstrap: str, simple_groups: int = 5, kinds: Sequence[str] = NEWER_KINDS) -> None:
    """Topics of both policies in every codec, transactions, and groups of all kinds with members and offsets."""
    with ClusterClient(bootstrap) as cluster:
        _make_topics(cluster)
        _produce(cluster)
        for group_id in ("members", *(f"simple-{n}" for n in range(simple_groups))):
            await_group(cluster, group_id)
    (address,) = addresses_of(bootstrap)
    clients = ScriptedClients(TcpDriver(*address))
    try:
        _transactions(clients)
        _commits(clients, simple_groups)
        _classic_members(clients)
        for kind in kinds:
            _JOIN[kind](clients)
    finally:
        clients.close()


def answers(bootstrap: str, *, has_records: bool = True) -> dict[str, Any]:
    """What the cluster says of its groups, their offsets, topics, and records unless those are left out."""
    with ClusterClient(bootstrap) as cluster:
        topics = [each for each in cluster.topics().values() if not each.is_internal]
        partitions = [each for topic in topics for each in topic.partitions]
        ranges = {each: _range(cluster, each) for each in partitions}
        return {
            "topics": {each.name: (each.topic_id, len(each.leaders)) for each in topics},
            "groups": _groups(cluster),
            "ranges": ranges,
            "records": {each: _records(cluster, each, *ranges[each]) for each in partitions if has_records},
        }


# -- filling -----------------------------------------------------------------------------------------------------------


def _make_topics(cluster: ClusterClient) -> None:
    compact = [CreatableTopicConfig(name="cleanup.policy", value="compact")]
    made = [
        CreatableTopic(
            name=name,
            num_partitions=count,
            replication_factor=1,
            configs=compact if name == "payments" else [CreatableTopicConfig(name="retention.ms", value="-1")],
        )
        for name, count in TOPICS.items()
    ]
    create_topics(cluster, made)
    cluster.await_topics(TOPICS)


def _produce(cluster: ClusterClient) -> None:
    now_ms = int(time.time() * 1000)
    for topic in ("orders", "payments"):
        for index in range(TOPICS[topic]):
            for codec in range(len(CODEC_NAMES)):
                records = [
                    Record(n, now_ms - 60_000 + 1000 * codec + n, b"key-%d" % (n % 3), b"value-%d" % n, [(b"h", b"x")])
                    for n in range(4 + index)
                ]
                cluster.produce(TopicPartition(topic, index), build_batch(records, codec=codec))
    deleted = DeleteRecordsPartition(partition_index=1, offset=5)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="orders", partitions=[deleted])], timeout_ms=10_000)
    cluster.ask(request, TopicPartition("orders", 1))


def _transactions(clients: ScriptedClients) -> None:
    """One that commits records and offsets, and one that is aborted, on the same partition."""
    client = clients.client("producer")
    client.find_coordinator("tx", key_type="transaction")
    eventually(lambda: client.init_producer_id(transactional_id="tx").error_code == 0)
    for commits in (True, False):
        eventually(lambda: not any(values_of(client.add_partitions_to_txn([("events", 0)]), "errorCode")))
        answer = client.produce("events", 0, [("k", "committed" if commits else "aborted")], transactional=True)
        assert answer.responses[0].partition_responses[0].error_code == 0
        (client.commit_transaction if commits else client.abort_transaction)()


def _commits(clients: ScriptedClients, count: int) -> None:
    client = clients.client("committer")
    for n in range(count):
        offsets = {("orders", n % 3): n + 1, ("payments", n % 2): 2 * n}
        client.commit(offsets, f"metadata {n}", group_id=f"simple-{n}")


def _classic_members(clients: ScriptedClients) -> None:
    client = clients.client("classic")
    client.join("members", ["orders"], protocols=["range"])
    client.sync({client.member_id: {"orders": [0, 1, 2]}})
    client.commit({("orders", 0): 3, ("orders", 2): 4})


def _consumer_members(clients: ScriptedClients) -> None:
    client = clients.client("consumer")
    client.find_coordinator("next")
    eventually(lambda: client.join_consumer_group("next", ["orders", "payments"]).error_code == 0)
    eventually(lambda: bool(client.consumer_group_heartbeat().error_code == 0 and client.assignment))
    client.reconcile()
    client.commit({("orders", 1): 6, ("payments", 0): 2})


def _share_members(clients: ScriptedClients) -> None:
    """A member that has accepted all records of one partition, and holds others."""
    client = clients.client("sharer")
    client.alter_configs("sharing", {"share.auto.offset.reset": "earliest"}, kind="group")
    client.find_coordinator("sharing")
    eventually(lambda: client.join_share_group("sharing", ["orders"]).error_code == 0)
    eventually(lambda: bool(client.share_group_heartbeat().error_code == 0 and client.assignment))

    def has_acquired() -> bool:
        client.share_fetch(max_wait_ms=200)
        return len(client.steps.acquired) == TOPICS["orders"]

    eventually(has_acquired)
    client.share_acknowledge("orders", 0)


def _streams_members(clients: ScriptedClients) -> None:
    client = clients.client("streamer")
    client.find_coordinator("streaming")
    topology = [Subtopology("0", ["orders"])]
    eventually(lambda: client.join_streams_group("streaming", topology).error_code == 0)
    eventually(lambda: bool(client.streams_group_heartbeat().active_tasks))
    client.reconcile_tasks()


_JOIN: Final[dict[str, Any]] = {
    "consumer": _consumer_members,
    "share": _share_members,
    "streams": _streams_members,
}


# -- asking ------------------------------------------------------------------------------------------------------------


def _groups(cluster: ClusterClient) -> dict[str, Any]:
    found = {}
    for node_id in cluster.brokers():
        for each in cluster.ask(ListGroupsRequest(), node_id).groups:
            kind = (each.group_type or "classic").lower()
            role = Coordinator(GROUP, each.group_id)
            described = cluster.ask(_DESCRIBE[kind](each.group_id), role).groups[0]
            _sort(described)
            found[each.group_id] = (kind, each.protocol_type, described, _offsets(cluster, each.group_id, kind))
    return dict(sorted(found.items()))


def _sort(described: Any) -> None:
    """Put in order what comes from a set."""
    for member in described.members:
        if hasattr(member, "subscribed_topic_names"):
            member.subscribed_topic_names.sort()
            assignments = [member.assignment, getattr(member, "target_assignment", member.assignment)]
            for assignment in assignments:
                assignment.topic_partitions.sort(key=lambda each: each.topic_name)


def _offsets(cluster: ClusterClient, group_id: str, kind: str) -> Any:
    role = Coordinator(GROUP, group_id)
    if kind == "share":
        group = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
        found = cluster.ask(DescribeShareGroupOffsetsRequest(groups=[group]), role).groups[0].topics
        return sorted((each.topic_name, repr(sorted(map(repr, each.partitions)))) for each in found)
    answer = cluster.ask(OffsetFetchRequest(group_id=group_id, topics=None), role, newest_for_one(ApiKey.OFFSET_FETCH))
    return sorted((each.name, sorted(each.partitions)) for each in answer.topics)


def _range(cluster: ClusterClient, partition: TopicPartition) -> tuple[int, int]:
    start = cluster.offsets({partition: EARLIEST})[partition].offset
    return start, cluster.offsets({partition: LATEST})[partition].offset


def _records(cluster: ClusterClient, partition: TopicPartition, start: int, end: int) -> list[Any]:
    """What a consumer with read_committed reads."""
    found = []
    for chunk in read_range(cluster, Fetch(partition, start, isolation=READ_COMMITTED), end):
        data = chunk.fetched.records
        for position, size_bytes, _ in committed_entries(chunk.fetched):
            found += [
                (each.offset, each.timestamp_ms, each.key, each.value, tuple(each.headers))
                for each in records_of(data[position : position + size_bytes])
                if each.offset >= start
            ]
    return found
