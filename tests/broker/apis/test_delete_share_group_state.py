"""DeleteShareGroupState (SGB-4)."""

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


@pytest.mark.rules("SGB-4")
def test_a_state_ends(lab: ShareStateApis) -> None:
    """It cannot be read any more; deleting it again is no error."""
    lab.initialize(0)

    codes = [lab.outcomes("DeleteShareGroupState", {"partition": 0})[0].error_code for _ in range(2)]

    assert codes == [0, 0]
    assert lab.outcomes("ReadShareGroupState", {"partition": 0})[0].error_code == ErrorCode.INVALID_REQUEST


def test_each_partition_on_its_own(lab: ShareStateApis) -> None:
    """An error of one partition leaves the others alone."""
    check_each_partition(lab, "DeleteShareGroupState")


def test_nothing_asked(lab: ShareStateApis) -> None:
    """No group id or no topics: no results."""
    check_nothing_asked(lab, "DeleteShareGroupState")


def test_another_broker_coordinates(make_call: MakeCall) -> None:
    """NOT_COORDINATOR for its partitions."""
    check_other_coordinator(make_call, "DeleteShareGroupState")
