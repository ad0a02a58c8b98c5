"""ReadShareGroupStateSummary (SGO-1)."""

import pytest

from fakebroker.protocol.wire.messages.read_share_group_state_summary import PartitionData, ReadStateSummaryData
from tests.support.share_state_apis import (
    MakeCall,
    ShareStateApis,
    check_each_partition,
    check_nothing_asked,
    check_other_coordinator,
)


@pytest.fixture
def lab(make_call: MakeCall) -> ShareStateApis:
    return ShareStateApis(make_call)


@pytest.mark.rules("SGO-1")
@pytest.mark.parametrize("version", [0, 1])
def test_a_summary(lab: ShareStateApis, version: int) -> None:
    """Epochs and start offset; what has no state has start offset -1, which is no error."""
    lab.initialize(0, state_epoch=2)
    partitions = [PartitionData(partition=index, leader_epoch=-1) for index in (0, 1)]
    topics = [ReadStateSummaryData(topic_id=lab.topic_id, partitions=partitions)]

    [result] = lab.ask("ReadShareGroupStateSummary", version, group_id="g", topics=topics).results

    assert [(each.error_code, each.state_epoch, each.leader_epoch) for each in result.partitions] == [
        (0, 2, 0),
        (0, 0, 0),
    ]
    assert [each.start_offset for each in result.partitions] == [3, -1]
    assert [each.delivery_complete_count for each in result.partitions] == ([0, -1] if version else [-1, -1])


def test_each_partition_on_its_own(lab: ShareStateApis) -> None:
    """An error of one partition leaves the others alone."""
    check_each_partition(lab, "ReadShareGroupStateSummary")


def test_nothing_asked(lab: ShareStateApis) -> None:
    """No group id or no topics: no results."""
    check_nothing_asked(lab, "ReadShareGroupStateSummary")


def test_another_broker_coordinates(make_call: MakeCall) -> None:
    """NOT_COORDINATOR for its partitions."""
    check_other_coordinator(make_call, "ReadShareGroupStateSummary")
