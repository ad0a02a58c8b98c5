"""Asking the share coordinator from other brokers: who is asked, how often, and when an answer comes."""

import pytest

from fakebroker.broker.core import elections
from fakebroker.broker.core.share_state.states import NO_STATE, SharePartition
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_states import ShareStates
from tests.support.time import SECOND

NONE = ErrorCode.NONE
THREE = (1, 2, 3)


def elsewhere(settings: dict[str, object] | None = None) -> ShareStates:
    """A share partition whose coordinator is not node 1, which asks."""
    lab = ShareStates(settings, THREE)
    keys = (SharePartition(f"g{number}", lab.topic.id, 0) for number in range(100))
    lab.key = next(key for key in keys if lab.cluster.coordinator_partition(SHARE_GROUP_STATE, str(key)).leader != 1)
    return lab


@pytest.mark.rules("SGL-4", "SGB-2")
def test_the_leader_of_the_state_partition_is_asked() -> None:
    """The partition is that of the key as FindCoordinator spells it; other brokers keep nothing of it."""
    lab = elsewhere()

    assert lab.initialize() == NONE
    assert lab.read()[0] == NONE
    leader = lab.partition.leader
    assert leader != 1
    assert list(lab.cluster.nodes[leader].share_coordinator.shards) == [lab.partition.index]
    assert lab.cluster.nodes[1].share_coordinator.shards == {}


@pytest.mark.rules("SGL-4")
def test_the_topic_is_made_by_the_first_question() -> None:
    """No client has to ask for the coordinator before."""
    lab = ShareStates()
    assert SHARE_GROUP_STATE not in lab.cluster.topics

    lab.summary()

    assert SHARE_GROUP_STATE in lab.cluster.topics


def test_a_coordinator_that_is_not_there_is_asked_five_times() -> None:
    """After 1, 2, 4 and 8 seconds; then the error is passed on."""
    lab = elsewhere({"broker.session.timeout.ms": 100_000_000})
    lab.initialize()
    lab.answers.clear()
    lab.cluster.freeze_node(lab.partition.leader, lab.now)

    lab.read()
    lab.wait(15 * SECOND - 1)
    assert lab.answers == []
    lab.wait(1)

    assert lab.answers == [(ErrorCode.NETWORK_EXCEPTION, NO_STATE)]


def test_a_coordinator_that_comes_back_answers() -> None:
    """The question is asked again in time."""
    lab = elsewhere({"broker.session.timeout.ms": 100_000_000})
    lab.initialize(start_offset=5)
    lab.answers.clear()
    leader = lab.partition.leader
    lab.cluster.freeze_node(leader, lab.now)
    lab.read()
    lab.wait(2500)

    lab.cluster.thaw_node(leader, lab.now)
    lab.wait(500)

    assert [(code, state.start_offset) for code, state in lab.answers] == [(NONE, 5)]


def test_the_next_leader_has_the_states() -> None:
    """It reads them from the log, and the former one forgets them."""
    lab = elsewhere()
    lab.initialize(start_offset=5)
    former = lab.partition.leader
    target = next(node for node in THREE if node != former)

    elections.move_leader(lab.partition, target, lab.now)

    assert lab.read()[1].start_offset == 5
    assert lab.cluster.nodes[former].share_coordinator.shards == {}


def test_a_slow_load_is_waited_for() -> None:
    """COORDINATOR_LOAD_IN_PROGRESS is not passed on while there are attempts left."""
    lab = ShareStates()
    lab.initialize(start_offset=5)
    lab.answers.clear()
    lab.cluster.nodes[1].share_coordinator.load(lab.partition.index, lab.now, for_ms=2_000)

    lab.read()
    assert lab.answers == []
    lab.wait(3 * SECOND)

    assert [state.start_offset for _, state in lab.answers] == [5]


def test_a_write_waits_for_replicas() -> None:
    """It is answered when they have it."""
    lab = elsewhere({"broker.session.timeout.ms": 100_000_000})
    lab.initialize()
    lab.answers.clear()
    follower = next(node for node in THREE if node not in (1, lab.partition.leader))
    lab.cluster.freeze_node(follower, lab.now)

    lab.write((0, 0, 2, 1), start=0)
    assert lab.answers == []
    lab.cluster.thaw_node(follower, lab.now)
    lab.wait(100)

    assert lab.answers == [NONE]


def test_a_broker_that_ended_gets_no_answer() -> None:
    """The process that asked is gone; the one after it knows of no question."""
    lab = elsewhere({"broker.session.timeout.ms": 100_000_000})
    lab.initialize()
    lab.answers.clear()
    lab.cluster.freeze_node(lab.partition.leader, lab.now)
    lab.read()

    lab.cluster.kill_node(1, lab.now)
    lab.cluster.thaw_node(lab.partition.leader, lab.now)
    lab.wait(20 * SECOND)

    assert lab.answers == []


def test_a_frozen_asker_hears_when_it_is_thawed() -> None:
    """The question is asked again only then."""
    lab = elsewhere({"broker.session.timeout.ms": 100_000_000})
    lab.initialize(start_offset=5)
    lab.answers.clear()
    lab.cluster.freeze_node(lab.partition.leader, lab.now)
    lab.read()
    lab.cluster.freeze_node(1, lab.now)
    lab.cluster.thaw_node(lab.partition.leader, lab.now)
    lab.wait(20 * SECOND)
    assert lab.answers == []

    lab.cluster.thaw_node(1, lab.now)
    lab.wait(1)

    assert [state.start_offset for _, state in lab.answers] == [5]
