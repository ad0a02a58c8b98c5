"""Brokers that are killed, frozen and cut off, as clients see it: fencing, zombies, writes that wait for replicas."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.elections import move_leader, set_in_sync
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.node import Node
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.delete_groups import DeletableGroupResult
from fakebroker.protocol.wire.messages.leave_group import MemberIdentity
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequestGroup
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.serve.sim.test_nodes import ClusterLab, heartbeat, stable
from tests.support.engine import Client

SESSION_MS = 3000
SETTINGS: dict[str, Any] = {"broker.session.timeout.ms": SESSION_MS}


@pytest.fixture
def lab() -> Iterator[ClusterLab]:
    lab = ClusterLab(**SETTINGS)
    lab.cluster.topics.create("t", config={}, assignments=[[lab.a, lab.b, lab.c]])
    yield lab
    assert lab.engine.errors == []


def produce(client: Client, acks: int, timeout_ms: int = 1500, version: int = 10) -> tuple[int, int] | None:
    """The code and base offset of one record for partition 0 of t; None while the request waits."""
    records = build_batch([Record(0, -1, None, b"v")])
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])]
    return produced(client.ask("Produce", version, acks=acks, timeout_ms=timeout_ms, topic_data=data))


def produced(answer: Any) -> tuple[int, int] | None:
    if answer is None:
        return None
    [[partition]] = [topic.partition_responses for topic in answer.responses]
    return partition.error_code, partition.base_offset


def latest(client: Client) -> tuple[int, int]:
    topics = [ListOffsetsTopic(name="t", partitions=[(0, -1, -1, 1)])]
    [[row]] = [topic.partitions for topic in client.ask("ListOffsets", 7, replica_id=-1, topics=topics).topics]
    return row[1], row[4]


def commit(client: Client, member_id: str, offset: int, generation: int = 1) -> int | None:
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, offset, -1, -1, "")])]
    asked = {"group_id": "g", "generation_id_or_member_epoch": generation, "member_id": member_id, "topics": topics}
    return code_of_commit(client.ask("OffsetCommit", 8, **asked))


def code_of_commit(answer: Any) -> int | None:
    return None if answer is None else int(answer.topics[0].partitions[0][1])


def offsets(client: Client) -> Any:
    """The committed offsets of g, or the error."""
    [group] = client.ask("OffsetFetch", 8, groups=[OffsetFetchRequestGroup(group_id="g", topics=None)]).groups
    return group.error_code or [row[1] for topic in group.topics for row in topic.partitions]


def coordinator(client: Client) -> int:
    [found] = client.ask("FindCoordinator", 4, coordinator_keys=["g"]).coordinators
    return int(found.node_id)


@pytest.mark.rules("CLU-4", "CLU-5", "CLU-21", "CLU-33", "CLU-34")
def test_a_coordinator_is_killed(lab: ClusterLab) -> None:
    """Connections end without an answer; the others name the dead one and say 16 until its session has run out."""
    member, parked = lab.at(lab.a), lab.at(lab.a)
    member_id = stable(member)
    assert commit(member, member_id, 7) == 0
    assert parked.join() is None
    lab.network.kill_node(lab.a)
    assert parked.answer("JoinGroup", 3) is None
    assert parked.close_reason == f"node {lab.a} was killed"
    with pytest.raises(ConnectionRefusedError, match="is killed"):
        lab.at(lab.a)

    at_b, at_c = lab.at(lab.b), lab.at(lab.c)
    lab.network.advance(SESSION_MS - 1)
    assert (coordinator(at_c), heartbeat(at_b, member_id)) == (lab.a, ErrorCode.NOT_COORDINATOR)
    listed = at_c.ask("Metadata", 7, topics=[MetadataRequestTopic(name="t")])
    assert [broker.node_id for broker in listed.brokers] == [1, 2, 3]
    lab.network.advance(1)
    assert (coordinator(at_c), heartbeat(at_b, member_id)) == (lab.b, 0)
    listed = at_c.ask("Metadata", 7, topics=[MetadataRequestTopic(name="t")])
    assert [broker.node_id for broker in listed.brokers] == sorted([lab.b, lab.c])
    assert listed.topics[0].partitions[0].offline_replicas == [lab.a]
    assert offsets(at_b) == [7]

    lab.network.start_node(lab.a)
    assert heartbeat(lab.at(lab.a), member_id) == ErrorCode.NOT_COORDINATOR
    assert heartbeat(at_b, member_id) == 0


@pytest.mark.rules("CLU-33")
def test_a_killed_broker_is_back_before_anybody_noticed(lab: ClusterLab) -> None:
    """Its new process is another one: others lead by then what it led, and nothing is fenced later."""
    member_id = stable(lab.at(lab.a))
    lab.network.kill_node(lab.a)
    lab.network.start_node(lab.a)
    lab.network.advance(SESSION_MS + 1)
    assert heartbeat(lab.at(lab.b), member_id) == 0
    assert not lab.cluster.nodes[lab.a].is_fenced


@pytest.mark.rules("CLU-40", "CLU-42", "CLU-44")
def test_a_frozen_broker_wakes(lab: ClusterLab) -> None:
    """What waited is served by what it knew, writes come to nothing; a moment later it says 16 and 6."""
    member, writer, asker = lab.at(lab.a), lab.at(lab.a), lab.at(lab.a)
    member_id = stable(member)
    assert (commit(member, member_id, 7), produce(writer, -1)) == (0, (0, 0))
    lab.network.freeze_node(lab.a)
    late = lab.at(lab.a)
    assert heartbeat_of(late, member_id) is None
    assert produce(writer, 1) is None
    lab.network.advance(SESSION_MS)
    assert commit(lab.at(lab.b), member_id, 50) == 0
    assert produce(lab.at(lab.b), -1) == (0, 1)

    lab.network.thaw_node(lab.a)
    assert late.answer("Heartbeat", 4).error_code == 0
    assert produced(writer.answer("Produce", 10)) == (0, 1)
    assert (offsets(asker), coordinator(asker), latest(asker)) == ([7], lab.a, (0, 1))
    assert commit(member, member_id, 51) is None
    lab.network.advance(broker_life.LEARNS_AFTER_MS)
    assert code_of_commit(member.answer("OffsetCommit", 8)) == ErrorCode.NOT_COORDINATOR
    assert (coordinator(asker), offsets(asker)) == (lab.b, ErrorCode.NOT_COORDINATOR)
    assert produce(writer, 1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert (offsets(lab.at(lab.b)), latest(lab.at(lab.b))) == ([50], (0, 2))
    assert sorted(lab.cluster.group_partition("g").isr) == [1, 2, 3]


def heartbeat_of(client: Client, member_id: str) -> Any:
    return client.ask("Heartbeat", 4, group_id="g", generation_id=1, member_id=member_id)


@pytest.mark.rules("CLU-41")
def test_timers_of_a_frozen_broker_run_out_when_it_wakes(lab: ClusterLab) -> None:
    """A session that ended meanwhile ends in its memory: 25; the coordinator of the day has the member still."""
    member = lab.at(lab.a)
    member_id = stable(member)
    lab.network.freeze_node(lab.a)
    lab.network.advance(SESSION_MS)
    at_b = lab.at(lab.b)
    for _ in range(9):
        assert heartbeat(at_b, member_id) == 0
        lab.network.advance(SESSION_MS)
    lab.network.thaw_node(lab.a)
    lab.network.advance(1)
    assert heartbeat(member, member_id) == ErrorCode.UNKNOWN_MEMBER_ID
    lab.network.advance(broker_life.LEARNS_AFTER_MS)
    assert [heartbeat(member, member_id), heartbeat(at_b, member_id)] == [ErrorCode.NOT_COORDINATOR, 0]


def test_a_short_freeze_changes_nothing(lab: ClusterLab) -> None:
    """Awake before its session has run out, it leads what it led; its followers had nothing to take over."""
    member = lab.at(lab.a)
    member_id = stable(member)
    lab.network.freeze_node(lab.a)
    lab.network.advance(SESSION_MS - 1)
    lab.network.thaw_node(lab.a)
    lab.network.advance(60)
    assert (heartbeat(member, member_id), commit(member, member_id, 3)) == (0, 0)
    assert lab.cluster.group_partition("g").leader_epoch == 0


@pytest.mark.rules("CLU-42", "CLU-43", "CLU-45")
def test_a_zombie_answers_and_cannot_write(lab: ClusterLab) -> None:
    """Heartbeats pass until the first write; from then on they wait as well, and all get 15 after five seconds."""
    member, other = lab.at(lab.a), lab.at(lab.a)
    member_id = stable(member)
    assert commit(member, member_id, 7) == 0
    zombie, partition = lab.cluster.nodes[lab.a], lab.cluster.group_partition("g")
    broker_life.become_zombie(lab.cluster, zombie, partition, lab.b, 60_000, lab.network.now)
    lab.network.advance(100)
    assert heartbeat(member, member_id) == 0
    assert commit(member, member_id, 8) is None
    assert heartbeat_of(other, member_id) is None
    lab.network.advance(5000)
    assert code_of_commit(member.answer("OffsetCommit", 8)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert other.answer("Heartbeat", 4).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (offsets(member), coordinator(member), coordinator(lab.at(lab.c))) == ([7], lab.a, lab.b)
    leave = {"group_id": "g", "members": [MemberIdentity(member_id=member_id)]}
    assert member.ask("LeaveGroup", 4, **leave) is None
    lab.network.advance(55_000)
    assert member.answer("LeaveGroup", 4).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert coordinator(member) == lab.b
    assert lab.at(lab.b).ask("DescribeGroups", 5, groups=["g"]).groups[0].group_state == "Empty"
    assert offsets(lab.at(lab.b)) == [7]


def test_a_zombie_that_heard_sooner_may_be_one_again(lab: ClusterLab) -> None:
    """It is one for as long as was said the second time: what was left of the first time does not count."""
    node, partition = lab.cluster.nodes[lab.a], lab.cluster.group_partition("g")
    stable(lab.at(lab.a))
    broker_life.become_zombie(lab.cluster, node, partition, lab.b, 10_000, lab.network.now)
    lab.network.stop_node(lab.a)
    lab.network.start_node(lab.a)
    move_leader(partition, lab.a, lab.network.now)
    broker_life.become_zombie(lab.cluster, node, partition, lab.b, 60_000, lab.network.now)
    lab.network.advance(59_999)
    assert coordinator(lab.at(lab.a)) == lab.a
    lab.network.advance(1)
    assert coordinator(lab.at(lab.a)) == lab.b


def test_a_frozen_broker_is_frozen_over_a_restart_of_all(lab: ClusterLab) -> None:
    """Its groups come from the log, and none of their timers runs before it is thawed: the load neither."""
    member = lab.at(lab.a)
    member_id = stable(member)
    node, index = lab.cluster.nodes[lab.a], lab.cluster.group_partition("g").index
    node.coordinator.load(index, lab.network.now, for_ms=60_000)
    lab.network.freeze_node(lab.a)
    broker_life.restart_all(lab.cluster, lab.network.now)
    assert [type(each.owner) for each in lab.cluster.timers.mono.armed()] == [Node]  # its session at the controller
    lab.network.thaw_node(lab.a)
    shards = {id(shard) for each in lab.cluster.nodes.values() for shard in each.coordinator.shards.values()}
    owners = [each.owner for each in lab.cluster.timers.mono.armed()]
    assert [type(owner) for owner in owners] == [Member]
    assert not [owner for owner in owners if isinstance(owner, Shard) and id(owner) not in shards]
    assert heartbeat(member, member_id) == 0


@pytest.mark.rules("CLU-61", "CLU-62")
def test_acks_all_waits_for_a_dead_replica(lab: ClusterLab) -> None:
    """7 at the timeout, with the base offset; 0 as soon as the replica is out of sync; then all of it is visible."""
    writer = lab.at(lab.a)
    assert produce(writer, -1) == (0, 0)
    lab.network.kill_node(lab.b)
    assert produce(writer, -1, timeout_ms=1500) is None
    lab.network.advance(1500)
    assert produced(writer.answer("Produce", 10)) == (ErrorCode.REQUEST_TIMED_OUT, 1)
    assert latest(writer) == (0, 1)
    assert produce(writer, 1) == (0, 2)
    assert produce(writer, -1, timeout_ms=9000) is None
    lab.network.advance(1500)
    assert produced(writer.answer("Produce", 10)) == (0, 3)
    assert latest(writer) == (0, 4)


@pytest.mark.rules("CLU-60", "CLU-62")
def test_too_few_in_sync() -> None:
    """acks -1 is 19 and appends nothing; acks 1 is taken and stays invisible until a replica is back."""
    lab = ClusterLab(**SETTINGS)
    config = {"min.insync.replicas": "2"}
    partition = lab.cluster.topics.create("t", config=config, assignments=[[lab.a, lab.b]]).partitions[0]
    writer = lab.at(lab.a)
    set_in_sync(partition, [lab.a], lab.network.now)
    assert produce(writer, -1) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    assert (produce(writer, 1), latest(writer)) == ((0, 0), (0, 0))
    set_in_sync(partition, [lab.a, lab.b], lab.network.now)
    assert (latest(writer), produce(writer, -1)) == ((0, 1), (0, 1))


@pytest.mark.rules("CLU-55")
def test_the_leader_changes_while_a_write_waits(lab: ClusterLab) -> None:
    """6 at once, with the offset that the record had got and the new leader."""
    writer = lab.at(lab.a)
    lab.network.kill_node(lab.b)
    assert produce(writer, -1, timeout_ms=60_000) is None
    partition = lab.cluster.topics.partition("t", 0)
    assert partition is not None
    partition.lead(lab.c, lab.network.now)
    lab.network.flush()
    answer = writer.answer("Produce", 10)
    assert produced(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)
    [[found]] = [topic.partition_responses for topic in answer.responses]
    assert found.current_leader.leader_id == lab.c
    assert [node.node_id for node in answer.node_endpoints] == [lab.c]


@pytest.mark.rules("CLU-22")
def test_who_leads_without_having_everything_loses_the_rest(lab: ClusterLab) -> None:
    """An unclean election of a replica that had stopped before: the log ends where it had stopped."""
    partition = lab.cluster.topics.create("u", assignments=[[lab.a, lab.b]]).partitions[0]
    log = partition.log
    log.append(build_batch([Record(0, -1, None, b"1")]), lab.network.now)
    lab.network.stop_node(lab.b)
    log.append(build_batch([Record(0, -1, None, b"2")]), lab.network.now)
    lab.network.stop_node(lab.a)
    partition.topic.config.replace({"unclean.leader.election.enable": "true"})
    lab.network.start_node(lab.b)
    assert (partition.leader, log.log_end_offset) == (lab.b, 1)


@pytest.mark.rules("CLU-63", "CLU-64")
def test_a_coordinator_without_replicas() -> None:
    """Refusals and reads are answered at once, everything else waits and gets 15; what was written counts later."""
    lab = ClusterLab(**SETTINGS, min_insync_replicas=2)
    lab.cluster.topics.create("t", assignments=[[lab.a]])
    member, other = lab.at(lab.a), lab.at(lab.a)
    member_id = stable(member)
    partition = lab.cluster.group_partition("g")
    set_in_sync(partition, [lab.a], lab.network.now)
    assert heartbeat(member, member_id) == 0
    assert commit(member, member_id, 9) is None
    assert heartbeat(other, member_id, 5) == ErrorCode.ILLEGAL_GENERATION
    assert (offsets(other), heartbeat_of(other, member_id)) == ([], None)
    lab.network.advance(5000)
    assert code_of_commit(member.answer("OffsetCommit", 8)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert other.answer("Heartbeat", 4).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert heartbeat_of(member, member_id) is None
    set_in_sync(partition, [lab.a, lab.b], lab.network.now)
    lab.network.flush()
    assert member.answer("Heartbeat", 4).error_code == 0
    assert (offsets(other), commit(member, member_id, 10)) == ([9], 0)
    assert lab.engine.errors == []


@pytest.mark.rules("CLU-65")
def test_before_4_a_coordinator_refuses_at_once() -> None:
    """3.9: commits are 15 at once and not stored; heartbeats and leaving are served."""
    lab = ClusterLab("3.9", **SETTINGS, min_insync_replicas=2)
    lab.cluster.topics.create("t", assignments=[[lab.a]])
    member = lab.at(lab.a)
    member_id = stable(member)
    partition = lab.cluster.group_partition("g")
    end_offset = partition.log.log_end_offset
    set_in_sync(partition, [lab.a], lab.network.now)
    assert commit(member, member_id, 9) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (heartbeat(member, member_id), offsets(member)) == (0, [])
    leave = {"group_id": "g", "members": [MemberIdentity(member_id=member_id)]}
    assert member.ask("LeaveGroup", 4, **leave).error_code == 0
    assert partition.log.log_end_offset == end_offset
    set_in_sync(partition, [lab.a, lab.b], lab.network.now)
    assert commit(member, "", 9, generation=-1) == 0
    assert lab.engine.errors == []


@pytest.mark.rules("CLU-64")
def test_a_group_deleted_without_replicas_is_gone() -> None:
    """The answer is 15, and yet it is deleted."""
    lab = ClusterLab(**SETTINGS, min_insync_replicas=2)
    lab.cluster.topics.create("t", assignments=[[lab.a]])
    client = lab.at(lab.a)
    assert commit(client, "", 5, generation=-1) == 0
    partition = lab.cluster.group_partition("g")
    set_in_sync(partition, [lab.a], lab.network.now)
    assert client.ask("DeleteGroups", 2, groups_names=["g"]) is None
    lab.network.advance(5000)
    results: list[DeletableGroupResult] = client.answer("DeleteGroups", 2).results
    assert [result.error_code for result in results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    set_in_sync(partition, [lab.a, lab.b], lab.network.now)
    assert offsets(client) == []


@pytest.mark.rules("CLU-82")
def test_loading_can_be_stretched() -> None:
    """A broker that takes a group over answers 14 as long as it is set to load, but Heartbeat 0."""
    lab = ClusterLab(**SETTINGS, fakebroker_coordinator_load_ms=2000)
    member_id = stable(lab.at(lab.a))
    lab.network.stop_node(lab.a)
    at_b = lab.at(lab.b)
    assert (offsets(at_b), heartbeat(at_b, member_id, 9)) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0)
    lab.network.advance(2000)
    assert (offsets(at_b), heartbeat(at_b, member_id, 9)) == ([], ErrorCode.ILLEGAL_GENERATION)


@pytest.mark.rules("CLU-26", "CLU-33")
def test_cut_off_from_the_others(lab: ClusterLab) -> None:
    """It is fenced, and does not know; its clients are served by what it knew. Reached again, it follows."""
    member = lab.at(lab.a)
    member_id = stable(member)
    node = lab.cluster.nodes[lab.a]
    broker_life.cut_off(lab.cluster, node, lab.network.now)
    lab.network.advance(SESSION_MS)
    assert node.is_fenced
    assert (coordinator(member), coordinator(lab.at(lab.b)), heartbeat(member, member_id)) == (lab.a, lab.b, 0)
    broker_life.rejoin(lab.cluster, node, lab.network.now)
    lab.network.advance(broker_life.LEARNS_AFTER_MS)
    assert (coordinator(member), node.is_fenced) == (lab.b, False)
    assert sorted(lab.cluster.group_partition("g").isr) == [1, 2, 3]
