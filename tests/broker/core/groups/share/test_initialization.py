"""States of share partitions are asked for after the heartbeat that found them lacking."""

import pytest

from fakebroker.broker.core.share_state.states import SharePartition, ShareState
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from tests.support.share_groups import OneShareGroup
from tests.support.time import SECOND

NEVER_FENCED = {"broker.session.timeout.ms": 100_000_000}


@pytest.mark.rules("SGH-10")
def test_they_are_asked_for_after_the_answer() -> None:
    """When the answer is made nothing has a state; at the same instant, a step later, all have."""
    lab = OneShareGroup()

    lab.send("m1", 0, ["t"])
    before = lab.known(), lab.state_of("t", 0)
    lab.wait(0)

    assert before == (({"t": [0, 1]}, {}, []), None)
    assert lab.known() == ({}, {"t": [0, 1]}, [])
    assert lab.state_of("t", 0) == ShareState(2, 0, -1, -1, ())


@pytest.mark.rules("SGH-10")
def test_they_are_asked_for_once() -> None:
    """A heartbeat that comes meanwhile asks for nothing again."""
    lab = OneShareGroup()
    lab.send("m1", 0, ["t"])
    lab.written()

    lab.send("m2", 0, ["t"])

    assert "15" not in lab.types()[0]


@pytest.mark.rules("SGH-10")
def test_a_failure_is_noted() -> None:
    """The topic is deleted before the coordinator is asked: nothing is initializing any more."""
    lab = OneShareGroup()
    lab.send("m1", 0, ["t", "u"])
    lab.cluster.topics.delete("u", lab.now)
    lab.wait(0)

    assert lab.known() == ({}, {}, [])
    assert lab.state_of("t", 0) is not None
    lab.send("m1", 2)
    lab.wait(0)
    assert lab.known() == ({}, {"t": [0, 1]}, [])


@pytest.mark.rules("SGH-10")
def test_after_the_retry_interval_they_are_asked_for_again() -> None:
    """The coordinator of one of them stands still for long: it is asked in vain, then later again."""
    lab = OneShareGroup(
        {**NEVER_FENCED, "group.share.max.session.timeout.ms": 600_000, "group.share.session.timeout.ms": 600_000},
        (1, 2),
    )
    partition = lab.cluster.coordinator_partition(SHARE_GROUP_STATE, str(SharePartition("g", lab.topics["u"].id, 0)))
    other = next(node for node in (1, 2) if node != lab.cluster.group_partition("g").leader)
    partition.lead(other, lab.now)
    lab.cluster.freeze_node(other, lab.now)

    lab.join("m1", ["u"])
    lab.wait(15 * SECOND)
    failed = lab.known()
    lab.cluster.thaw_node(other, lab.now)
    lab.send("m1", 2)
    lab.wait(0)

    assert failed == ({}, {}, [])
    assert lab.known() == ({}, {"u": [0]}, [])


@pytest.mark.rules("SGH-10")
def test_a_group_that_is_gone_notes_nothing() -> None:
    """It was moved away before its question was asked: the next coordinator's first heartbeat asks again, later."""
    lab = OneShareGroup()
    lab.send("m1", 0, ["t"])

    group = lab.reload()
    lab.wait(0)

    assert not group.initializations
    assert lab.known() == ({"t": [0, 1]}, {}, [])
    lab.wait(30 * SECOND)
    lab.send("m1", 2)
    lab.wait(0)
    assert lab.known() == ({}, {"t": [0, 1]}, [])
