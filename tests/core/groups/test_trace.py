"""Section 9b of the specification: two dynamic consumers from the first JoinGroup to a late heartbeat."""

import pytest

from fakebroker.errors import ErrorCode
from tests.core.groups.lab import COMPLETING, EMPTY, PREPARING, STABLE, Lab


@pytest.mark.rules("TR-1", "TR-2", "TR-3", "TR-4", "TR-5", "TR-6", "TR-7", "TR-8", "JG-32", "ST-5", "ST-6", "ST-11")
def test_two_consumers(lab: Lab) -> None:
    """Joining, the extended delay, syncing, leaving, rejoining and leaving again go as the trace says."""
    group = lab.group
    a_id = lab.ask_for_id()
    assert (group.state, group.generation) == (EMPTY, 0)
    a = lab.join(a_id)
    assert (group.state, a.is_parked) == (PREPARING, True)

    lab.wait_until(1000)
    b_id = lab.ask_for_id()
    lab.wait_until(1100)
    b = lab.join(b_id)
    lab.wait_until(5999)
    assert a.is_parked
    assert b.is_parked
    lab.wait_until(6000)
    assert (a.at_ms, b.at_ms, group.generation, group.state) == (6000, 6000, 1, COMPLETING)
    assert (a.leader, [member.member_id for member in a.members], list(b.members)) == (a_id, [a_id, b_id], [])

    b_sync = lab.sync(b_id)
    assert b_sync.is_parked
    a_sync = lab.sync(a_id, {a_id: b"1", b_id: b"2"})
    assert (a_sync.assignment, b_sync.assignment, group.state) == (b"1", b"2", STABLE)
    assert lab.heartbeat(a_id) == lab.heartbeat(b_id) == ErrorCode.NONE

    assert lab.leave(b_id) == [ErrorCode.NONE]
    assert group.state == PREPARING
    assert lab.heartbeat(a_id) == ErrorCode.REBALANCE_IN_PROGRESS
    assert group.error_for_member(a_id, None, 1) == ErrorCode.NONE  # its commit is accepted
    assert lab.join(a_id).generation == 2
    assert group.error_for_member(a_id, None, 1) == ErrorCode.ILLEGAL_GENERATION
    lab.sync(a_id, {a_id: b"12"})
    assert group.state == STABLE

    lab.leave(a_id)
    assert (group.state, group.generation, group.protocol_type, group.protocol) == (EMPTY, 3, "consumer", None)
    assert (len(group.members), group.state_ms) == (0, lab.now.wall_ms)
    assert lab.heartbeat(a_id, generation=2) == ErrorCode.UNKNOWN_MEMBER_ID
