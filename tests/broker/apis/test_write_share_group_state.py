"""WriteShareGroupState (SGB-3)."""

import pytest

from fakebroker.broker.core.share_state.states import MAX_BATCHES
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.write_share_group_state import PartitionData, StateBatch, WriteStateData
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


@pytest.mark.rules("SGB-3")
@pytest.mark.parametrize("version", [0, 1])
def test_a_state_is_written(lab: ShareStateApis, version: int) -> None:
    """What is read after it has the batches; version 0 does not tell how many records are done with."""
    lab.initialize(0)
    batch = StateBatch(first_offset=3, last_offset=4, delivery_state=2, delivery_count=1)
    entry = PartitionData(partition=0, start_offset=3, delivery_complete_count=2, state_batches=[batch])
    topics = [WriteStateData(topic_id=lab.topic_id, partitions=[entry])]

    answer = lab.ask("WriteShareGroupState", version, group_id="g", topics=topics)
    [found] = lab.outcomes("ReadShareGroupState", {"partition": 0})
    [summary] = lab.outcomes("ReadShareGroupStateSummary", {"partition": 0})

    assert answer.results[0].partitions[0].error_code == 0
    assert [(each.first_offset, each.last_offset, each.delivery_state) for each in found.state_batches] == [(3, 4, 2)]
    assert summary.delivery_complete_count == (2 if version else -1)


def test_each_partition_on_its_own(lab: ShareStateApis) -> None:
    """An error of one partition leaves the others alone."""
    check_each_partition(lab, "WriteShareGroupState")


def test_nothing_asked(lab: ShareStateApis) -> None:
    """No group id or no topics: no results."""
    check_nothing_asked(lab, "WriteShareGroupState")


def test_another_broker_coordinates(make_call: MakeCall) -> None:
    """NOT_COORDINATOR for its partitions."""
    check_other_coordinator(make_call, "WriteShareGroupState")


def test_no_state_has_very_many_batches(lab: ShareStateApis) -> None:
    """INVALID_REQUEST, and nothing is stored; what is stored already counts, and other partitions are served."""
    lab.initialize(0)
    lab.initialize(1)

    def write(partition: int, first: int, count: int) -> int:
        batches = [
            StateBatch(first_offset=2 * n, last_offset=2 * n, delivery_count=1) for n in range(first, first + count)
        ]
        [found] = lab.outcomes(
            "WriteShareGroupState", {"partition": partition, "start_offset": 0, "state_batches": batches}
        )
        code: int = found.error_code
        return code

    half = MAX_BATCHES // 2
    assert write(0, 0, MAX_BATCHES + 1) == ErrorCode.INVALID_REQUEST
    assert [write(0, 0, half), write(0, half, half)] == [0, 0]
    assert write(0, MAX_BATCHES, 1) == ErrorCode.INVALID_REQUEST
    assert write(1, 0, 1) == 0
    assert write(0, 0, 0) == 0
    [found] = lab.outcomes("ReadShareGroupState", {"partition": 0})
    assert len(found.state_batches) == MAX_BATCHES
