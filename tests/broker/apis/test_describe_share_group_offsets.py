"""DescribeShareGroupOffsets (SGO-1 to SGO-3)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from tests.support.group_apis import join
from tests.support.share_group_apis import NO_ID, ShareGroupApis, rows

MakeCall = Callable[..., Call]


@pytest.fixture
def lab(make_call: MakeCall) -> ShareGroupApis:
    return ShareGroupApis(make_call)


@pytest.mark.rules("SGO-1", "SGO-2")
def test_describing_all(lab: ShareGroupApis) -> None:
    """Null means all initialized partitions; the lag is what comes from the start offset on, -1 without one."""
    lab.beat(0)
    lab.beat(-1)
    lab.alter({"t": {0: 4}})

    group = lab.describe()

    assert (group.error_code, group.error_message) == (0, None)
    [topic] = group.topics
    assert (topic.topic_name, topic.topic_id) == ("t", lab.topic.id)
    assert rows(topic) == [(0, 4, 6), (1, -1, -1)]
    assert rows(lab.describe(version=0).topics[0]) == [(0, 4, -1), (1, -1, -1)]


@pytest.mark.rules("SGO-2")
def test_finished_records_are_no_lag(lab: ShareGroupApis) -> None:
    """The count that the leader stored is taken off."""
    from fakebroker.protocol.wire.messages.write_share_group_state import PartitionData, StateBatch, WriteStateData

    lab.alter({"t": {0: 4}})
    batch = StateBatch(first_offset=5, last_offset=6, delivery_state=2, delivery_count=1)
    entry = PartitionData(partition=0, state_epoch=1, start_offset=4, delivery_complete_count=2, state_batches=[batch])
    topics = [WriteStateData(topic_id=lab.topic.id, partitions=[entry])]
    lab.ask("WriteShareGroupState", 1, group_id="g", topics=topics)

    assert rows(lab.describe().topics[0]) == [(0, 4, 4)]


@pytest.mark.rules("SGO-2")
def test_a_partition_without_records_has_no_lag(lab: ShareGroupApis) -> None:
    """Its log ends where it begins."""
    empty = lab.cluster.topics.create("empty")
    lab.alter({"empty": {0: 0}})

    assert rows(lab.describe({"empty": [0]}).topics[0]) == [(0, 0, 0)]
    assert not empty.partitions[0].has_log


@pytest.mark.rules("SGO-1", "SGO-3")
def test_describing_by_name(lab: ShareGroupApis) -> None:
    """What has no state or does not exist has start offset -1, which is no error; an unknown topic has no id."""
    lab.alter({"t": {0: 4}})

    known, unknown = lab.describe({"t": [1, 0, 7], "none": [0]}).topics

    assert rows(known) == [(1, -1, -1), (0, 4, 6), (7, -1, -1)]
    assert (unknown.topic_id, rows(unknown)) == (NO_ID, [(0, -1, -1)])


@pytest.mark.rules("SGO-2")
def test_a_lag_that_is_too_large_overflows(lab: ShareGroupApis) -> None:
    """As a long of Java: a start offset far below zero makes an answer, and no internal error."""
    lab.alter({"t": {0: -(2**63) + 5}})

    (topic,) = lab.describe({"t": [0]}).topics

    assert rows(topic) == [(0, -(2**63) + 5, -(2**63) + 5)]


@pytest.mark.rules("SGO-1")
def test_describing_what_is_no_share_group(lab: ShareGroupApis) -> None:
    """No error and no topics, also for an empty group id."""
    lab.send("JoinGroup", 3, **join("classic"))

    assert [
        (each.error_code, each.topics) for each in (lab.describe(group_id=name) for name in ("none", "classic", ""))
    ] == [(0, [])] * 3


@pytest.mark.rules("SGO-1")
def test_describing_topics_of_what_is_no_share_group(lab: ShareGroupApis) -> None:
    """Topics that are named are answered without start offsets."""
    known, unknown = lab.describe({"t": [0], "none": [0, 1]}, group_id="nobody").topics

    assert (known.topic_id, rows(known)) == (lab.topic.id, [(0, -1, -1)])
    assert (unknown.topic_id, rows(unknown)) == (NO_ID, [(0, -1, -1), (1, -1, -1)])
