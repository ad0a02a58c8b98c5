"""InitializeShareGroupState (SGB-3)."""

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


@pytest.mark.rules("SGB-3")
def test_a_state_begins(lab: ShareStateApis) -> None:
    """With the given epoch and offset; an earlier epoch is 124 after that, a partition that is not there 3."""
    assert lab.initialize(0, state_epoch=2).error_code == 0
    assert lab.initialize(0, state_epoch=1).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert lab.initialize(2).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_each_partition_on_its_own(lab: ShareStateApis) -> None:
    """An error of one partition leaves the others alone."""
    check_each_partition(lab, "InitializeShareGroupState")


def test_nothing_asked(lab: ShareStateApis) -> None:
    """No group id or no topics: no results."""
    check_nothing_asked(lab, "InitializeShareGroupState")


def test_another_broker_coordinates(make_call: MakeCall) -> None:
    """NOT_COORDINATOR for its partitions."""
    check_other_coordinator(make_call, "InitializeShareGroupState")
