"""Who may commit to a group, and delete its offsets, where no request can lead: the group is Dead."""

import pytest

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.protocol.errors import ErrorCode
from tests.support.offsets import OffsetsCluster


@pytest.fixture
def dead_group() -> ClassicGroup:
    """A group that somebody still holds although it was deleted."""
    lab = OffsetsCluster()
    lab.commit()
    group = lab.group()
    group.die(lab.now)
    return group


@pytest.mark.rules("OC-7")
@pytest.mark.parametrize(("member_id", "generation"), [("", -1), ("m", -1), ("m", 1)])
def test_a_dead_group_takes_no_commit(dead_group: ClassicGroup, member_id: str, generation: int) -> None:
    """15, whoever commits: the client shall look for the coordinator again."""
    refusal = dead_group.error_for_commit(member_id, None, generation)

    assert refusal is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.rules("OC-16")
@pytest.mark.parametrize(("member_id", "generation"), [("", -1), ("m", -1), ("m", 1)])
def test_a_dead_group_takes_no_commit_in_a_transaction(
    dead_group: ClassicGroup, member_id: str, generation: int
) -> None:
    """15, also for who names neither member nor generation."""
    refusal = dead_group.error_for_txn_commit(member_id, None, generation)

    assert refusal is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.rules("OD-2")
def test_a_dead_group_has_no_offsets_to_delete(dead_group: ClassicGroup) -> None:
    """It counts as one that does not exist: 69."""
    assert dead_group.error_for_offset_delete() is ErrorCode.GROUP_ID_NOT_FOUND
