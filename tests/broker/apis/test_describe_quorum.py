"""DescribeQuorum: every broker is a voter of the metadata log."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData

Ask = Callable[..., Any]
LOG = ("__cluster_metadata", [0])
NOW = Instant(1_700_000_000_000, 10_000)


def request(*topics: tuple[str, list[int]]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=[
            TopicData(topic_name=name, partitions=[PartitionData(partition_index=index) for index in partitions])
            for name, partitions in topics
        ]
    )


@pytest.mark.rules("DQ-1")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_one_broker_that_is_the_controller_too(ask: Ask, version: int) -> None:
    """It leads, and has the whole log now; v1 tells times, v2 its listener and no directory id in KRaft version 0."""
    cluster = Cluster(Settings(), release())

    answer = ask(cluster, request(LOG), version, now=NOW)

    (partition,) = answer.topics[0].partitions
    assert (answer.error_code, partition.error_code, partition.partition_index) == (0, 0, 0)
    assert (partition.leader_id, partition.leader_epoch, partition.observers) == (1, 1, [])
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.replica_directory_id) == (1, bytes(16))
    assert voter.log_end_offset == partition.high_watermark > 0
    time_ms = NOW.wall_ms if version else -1
    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (time_ms, time_ms)
    nodes = [(node.node_id, [each.name for each in node.listeners]) for node in answer.nodes]
    assert nodes == [(1, ["CONTROLLER"])] * (version == 2)
    if version == 2:
        assert answer.error_message == partition.error_message == ""


@pytest.mark.rules("DQ-1")
def test_the_log_grows_with_the_clock(ask: Ask, cluster: Cluster) -> None:
    """A controller that has nothing to do writes a record every half second."""
    ends = [
        ask(cluster, request(LOG), 2, now=now).topics[0].partitions[0].high_watermark for now in (NOW, NOW.plus(5_000))
    ]
    assert ends[1] - ends[0] == 10


@pytest.mark.rules("DQ-3")
def test_several_brokers_one_of_them_dead(ask: Ask, cluster: Cluster) -> None:
    """All are voters. The leader is the controller that Metadata names; a dead one has not fetched from it."""
    cluster.kill_node(1, NOW)
    cluster.nodes[1].is_fenced = True

    partition = ask(cluster, request(LOG), 2, now=NOW).topics[0].partitions[0]

    assert partition.leader_id == cluster.controller_id == 2
    voters = {each.replica_id: each for each in partition.current_voters}
    assert list(voters) == [1, 2, 3]
    assert (voters[1].log_end_offset, voters[1].last_fetch_timestamp, voters[1].last_caught_up_timestamp) == (-1,) * 3
    assert voters[2].log_end_offset == voters[3].log_end_offset == partition.high_watermark


@pytest.mark.rules("DQ-1", "UF-4")
def test_directory_ids_in_kraft_version_1(ask: Ask, cluster: Cluster) -> None:
    """Each broker has its own, and keeps it."""
    cluster.features.change({"kraft.version": 1})
    answers = [ask(cluster, request(LOG), 2, now=NOW).topics[0].partitions[0] for _ in range(2)]
    ids = [[voter.replica_directory_id for voter in answer.current_voters] for answer in answers]
    assert ids[0] == ids[1]
    assert len({bytes(16), *ids[0]}) == 4


@pytest.mark.rules("DQ-2")
@pytest.mark.parametrize(
    "topics",
    [
        [],
        [("__cluster_metadata", [])],
        [("__cluster_metadata", [1])],
        [("__cluster_metadata", [0, 0])],
        [("t", [0])],
        [LOG, ("t", [0])],
    ],
)
@pytest.mark.parametrize("version", [0, 2])
def test_anything_else_is_unknown(
    ask: Ask, cluster: Cluster, topics: list[tuple[str, list[int]]], version: int
) -> None:
    """3 for every partition, also for that of the metadata log beside another; no nodes, and no error on top."""
    answer = ask(cluster, request(*topics), version, now=NOW)

    assert (answer.error_code, answer.nodes) == (0, [])
    seen = [(each.topic_name, [one.partition_index for one in each.partitions]) for each in answer.topics]
    assert seen == topics
    for partition in (one for each in answer.topics for one in each.partitions):
        assert (partition.error_code, partition.leader_id, partition.current_voters) == (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            0,
            [],
        )
