"""OffsetDelete: who may forget which offsets."""

from collections.abc import Mapping, Sequence

import pytest

from fakebroker.broker.core.groups.classic.states import State
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from tests.support.offsets import PASS, OffsetsCluster

OK = ErrorCode.NONE
NO_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
NOT_HERE = ErrorCode.NOT_COORDINATOR
NO_GROUP_ID = ErrorCode.INVALID_GROUP_ID
NON_EMPTY = ErrorCode.NON_EMPTY_GROUP
NO_GROUP = ErrorCode.GROUP_ID_NOT_FOUND
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC

Answer = tuple[int, list[tuple[str, int, int]]]


def delete(lab: OffsetsCluster, asked: Mapping[str, Sequence[int]], group_id: str = "g") -> Answer:
    """The error at the top, and (topic, partition, code) as answered."""
    topics = [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
        )
        for name, indexes in asked.items()
    ]
    answer = lab.ask("OffsetDelete", 0, group_id=group_id, topics=topics)
    return answer.error_code, [
        (topic.name, entry.partition_index, entry.error_code) for topic in answer.topics for entry in topic.partitions
    ]


@pytest.mark.rules("OD-1", "OD-3")
def test_an_empty_group() -> None:
    """Every partition that exists is 0, also one without an offset; what does not exist is 3."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5, ("t", 1): 6, ("u", 0): 7})

    assert delete(lab, {"t": [0, 2, 4], "none": [0]}) == (
        OK,
        [("t", 0, OK), ("t", 2, OK), ("t", 4, NO_PARTITION), ("none", 0, NO_PARTITION)],
    )
    assert lab.offsets() == {("t", 1): 6, ("u", 0): 7}


@pytest.mark.rules("OD-1", "OD-2")
@pytest.mark.parametrize("asked", [{"t": [0]}, {"none": [0]}, {}])
def test_group_errors_are_at_the_top(asked: dict[str, list[int]]) -> None:
    """The group's error stands alone, also where no partition is left: the coordinator is always asked."""
    lab = OffsetsCluster(nodes=(1, 2))
    lab.partition().lead(1, lab.now)
    assert delete(lab, asked, "") == (NO_GROUP_ID, [])
    assert delete(lab, asked) == (NO_GROUP, [])
    lab.load_slowly()
    assert delete(lab, asked) == (LOADING, [])
    lab.partition().lead(2, lab.now)
    assert delete(lab, asked) == (NOT_HERE, [])


@pytest.mark.rules("OD-4")
def test_topics_that_a_member_reads() -> None:
    """In a live consumer group the topics that a member subscribes to are 86, in every state; others go."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5, ("u", 0): 6, ("u", 1): 7})
    member = lab.stable(topics=["t"])
    expected = (OK, [("t", 0, SUBSCRIBED), ("u", 0, OK)])

    assert delete(lab, {"t": [0], "u": [0]}) == expected
    lab.join(topics=["t"])
    assert lab.group().state is State.PREPARING
    assert delete(lab, {"t": [0], "u": [0]}) == expected
    lab.join(topics=["t"], member_id=member)
    assert lab.group().state is State.COMPLETING
    assert delete(lab, {"t": [0], "u": [0]}) == expected
    assert lab.offsets() == {("t", 0): 5, ("u", 1): 7}


@pytest.mark.rules("OD-4")
def test_an_unreadable_subscription() -> None:
    """If a subscription cannot be read, every topic counts as subscribed."""
    lab = OffsetsCluster()
    lab.commit()
    lab.stable(metadata=b"?")

    assert delete(lab, {"t": [0], "u": [0]}) == (OK, [("t", 0, SUBSCRIBED), ("u", 0, SUBSCRIBED)])


@pytest.mark.rules("OD-4", "OD-3")
def test_a_group_whose_members_left() -> None:
    """Nobody reads anything in a group that became Empty."""
    lab = OffsetsCluster()
    lab.commit()
    lab.emptied()

    assert delete(lab, {"t": [0]}) == (OK, [("t", 0, OK)])


@pytest.mark.rules("OD-5")
def test_a_live_group_of_another_kind() -> None:
    """Members of another protocol type: 68 for the request."""
    lab = OffsetsCluster()
    lab.commit()
    lab.stable(protocol_type="connect")

    assert delete(lab, {"t": [0]}) == (NON_EMPTY, [])
    assert lab.offsets() == {("t", 0): 5}


@pytest.mark.rules("OD-6", "EX-9")
def test_the_last_offset_of_a_group() -> None:
    """The group stays until the next cleanup."""
    lab = OffsetsCluster()
    lab.commit()
    delete(lab, {"t": [0]})

    assert lab.exists()
    lab.wait(PASS)
    assert not lab.exists()


@pytest.mark.rules("OD-6")
def test_the_last_offset_of_a_group_in_3_9() -> None:
    """3.9.1 removes the group at once."""
    lab = OffsetsCluster("3.9")
    lab.commit({("t", 0): 5, ("t", 1): 5})
    delete(lab, {"t": [0]})
    assert lab.exists()

    delete(lab, {"t": [1]})
    assert not lab.exists()


@pytest.mark.rules("OD-6", "EX-10")
def test_a_group_without_offsets_in_3_9() -> None:
    """3.9.1 removes it too, if any partition exists, and writes nothing if it never had a generation."""
    lab = OffsetsCluster("3.9")
    lab.shard().create_group("g", lab.now)
    delete(lab, {"t": [9]})
    assert lab.exists()

    delete(lab, {"t": [0]})
    assert not lab.exists()
    assert lab.batches() == []


@pytest.mark.rules("OD-7", "CR-18")
def test_pending_offsets_go_too() -> None:
    """A pending offset of the partition is dropped with the stored one, at once and for good."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5})
    lab.pend({("t", 0): 50, ("t", 1): 60})

    assert delete(lab, {"t": [0, 1]}) == (OK, [("t", 0, OK), ("t", 1, OK)])
    assert lab.group().offsets.is_empty()
    lab.shard().replay_end_transaction_marker(7, True, lab.now)
    assert lab.offsets() == {}


@pytest.mark.rules("OD-8")
@pytest.mark.parametrize(("as_release", "answers"), [("4.3", 2), ("3.9", 1)])
def test_a_partition_twice(as_release: str, answers: int) -> None:
    """4.3.1 answers twice, 3.9.1 once unless the partition does not exist; one tombstone is written either way."""
    lab = OffsetsCluster(as_release)
    lab.commit({("t", 0): 5, ("u", 0): 6})
    before = len(lab.records())

    assert delete(lab, {"t": [0, 0]}) == (OK, [("t", 0, OK)] * answers)
    assert [record.value for record in lab.records()[before:]] == [None]
    assert [code for _, _, code in delete(lab, {"none": [0, 0]})[1]] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2


@pytest.mark.rules("OD-8")
def test_a_topic_in_several_entries() -> None:
    """They are answered as they came, or as one if a partition is unknown, as seen in 4.3.1."""
    lab = OffsetsCluster()
    lab.commit()

    def topics(*indexes: int) -> list[int]:
        entries = [
            OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=index)])
            for index in indexes
        ]
        answer = lab.ask("OffsetDelete", 0, group_id="g", topics=[*entries, OffsetDeleteRequestTopic(name="u")])
        return [len(topic.partitions) for topic in answer.topics]

    assert topics(0, 1) == [1, 1]
    assert topics(0, 9) == [2]


@pytest.mark.rules("OD-8")
def test_tombstones_only_where_something_is() -> None:
    """Deleting what is not stored writes nothing."""
    lab = OffsetsCluster()
    lab.commit()
    before = len(lab.records())
    delete(lab, {"t": [1, 2], "u": [0]})

    assert len(lab.records()) == before
