"""ReadShareGroupState (SGP-1)."""

import pytest

from fakebroker.protocol.errors import ErrorCode
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


@pytest.mark.rules("SGP-1")
def test_a_state_is_read(lab: ShareStateApis) -> None:
    """State epoch and start offset, of an error only the code; earlier leaders are 74 after that."""
    lab.initialize(0, state_epoch=2)

    found, missing = lab.outcomes("ReadShareGroupState", {"partition": 0, "leader_epoch": 1}, {"partition": 1})
    [fenced] = lab.outcomes("ReadShareGroupState", {"partition": 0, "leader_epoch": 0})

    assert (found.state_epoch, found.start_offset, found.state_batches) == (2, 3, [])
    assert (missing.error_code, missing.state_epoch, missing.start_offset) == (ErrorCode.INVALID_REQUEST, 0, 0)
    assert (fenced.error_code, bool(fenced.error_message)) == (ErrorCode.FENCED_LEADER_EPOCH, True)


def test_each_partition_on_its_own(lab: ShareStateApis) -> None:
    """An error of one partition leaves the others alone."""
    check_each_partition(lab, "ReadShareGroupState")


def test_nothing_asked(lab: ShareStateApis) -> None:
    """No group id or no topics: no results."""
    check_nothing_asked(lab, "ReadShareGroupState")


def test_another_broker_coordinates(make_call: MakeCall) -> None:
    """NOT_COORDINATOR for its partitions."""
    check_other_coordinator(make_call, "ReadShareGroupState")
