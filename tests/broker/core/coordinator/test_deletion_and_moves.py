"""A topic is deleted in steps; what moves between brokers meanwhile keeps no offsets of it."""

import pytest

from fakebroker.broker.core.elections import reassign
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.work_counter import calls_of

GROUPS = 200


@pytest.mark.rules("EX-12")
@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize(("old", "new"), [(1, 2), (2, 1)])
def test_a_partition_that_moves_amid_a_deletion(steps: int, old: int, new: int) -> None:
    """Whichever broker the deletion has been with before the move, no group has an offset of the topic after it."""
    lab = SimEngine({"offsets.topic.num.partitions": 2}, node_ids=(1, 2))
    lab.cluster.topics.create("t", 1)
    partitions = lab.cluster.topics.internal("__consumer_offsets").partitions
    for partition in partitions:
        reassign(partition, [1, 2], lab.network.now)
        partition.lead(old, lab.network.now)
    committer = lab.client(lab.engine.listeners[old - 1])
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, None)])]
    for number in range(4):
        frame = request("OffsetCommit", 7, group_id=f"g{number}", generation_id_or_member_epoch=-1, topics=topics)
        committer.socket.send(frame)
    assert groups_with_offsets(lab, old) == 4

    deletion = lab.cluster.topics.delete_in_steps("t", lab.network.now)
    for _ in range(steps):
        next(deletion, None)
    for partition in partitions:
        partition.lead(new, lab.network.now)
    for _ in deletion:
        pass

    assert groups_with_offsets(lab, new) == 0
    assert len(lab.cluster.nodes[new].coordinator.all_shards(lab.network.now)) == 2
    assert lab.engine.errors == []
    assert lab.cluster.topics.being_deleted == []


def groups_with_offsets(lab: SimEngine, node: int) -> int:
    shards = lab.cluster.nodes[node].coordinator.all_shards(lab.network.now)
    return sum(bool(group.offsets.topics.get("t")) for shard in shards for group in shard)


@pytest.mark.rules("EX-12")
@pytest.mark.parametrize("steps", range(1, 4))
def test_what_is_committed_to_a_topic_that_is_made_anew_stays(steps: int) -> None:
    """In whichever step of the deletion of the old one it is made: the offsets of that go first."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 1)
    client = lab.client()
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, None)])]

    def commit(group_id: str) -> None:
        client.ask("OffsetCommit", 7, group_id=group_id, generation_id_or_member_epoch=-1, topics=topics)

    for number in range(4):
        commit(f"g{number}")
    deletion = lab.cluster.topics.delete_in_steps("t", lab.network.now)
    for _ in range(steps):
        next(deletion, None)
    lab.cluster.topics.create("t", 1)
    commit("g0")
    for _ in deletion:
        pass
    shards = lab.cluster.nodes[1].coordinator.all_shards(lab.network.now)
    assert [group.group_id for shard in shards for group in shard if group.offsets.topics.get("t")] == ["g0"]
    assert lab.cluster.topics.being_deleted == []


@pytest.mark.rules("EX-12")
@pytest.mark.parametrize("as_release", ["4.3", "3.9"])
def test_groups_without_offsets_of_a_topic_cost_little(as_release: str) -> None:
    """Many topics may be deleted where there are many groups: each pair costs a look."""
    lab = SimEngine({"offsets.topic.num.partitions": 1}, as_release=as_release)
    lab.cluster.topics.create("t", 100)
    lab.cluster.topics.create("u", 1)
    client = lab.client()
    rows: list[tuple[int, int, int, int, str | None]] = [(index, 1, -1, -1, None) for index in range(100)]
    topics = [OffsetCommitRequestTopic(name="t", partitions=rows)]
    for number in range(GROUPS):
        client.ask("OffsetCommit", 7, group_id=f"g{number}", generation_id_or_member_epoch=-1, topics=topics)

    def delete(name: str) -> int:
        return calls_of(lambda: [*lab.cluster.topics.delete_in_steps(name, lab.network.now)])

    assert delete("u") < GROUPS * 10
    assert groups_with_offsets(lab, 1) == GROUPS
    assert delete("t") > GROUPS * 10
    assert groups_with_offsets(lab, 1) == 0
