"""States of share partitions as somebody else has written them: any number stands for the state of a record."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fakebroker.broker.core.explain.share_partitions import share_partitions_of
from fakebroker.broker.core.share_state import asking
from fakebroker.broker.core.share_state.states import NO_EPOCH, StateBatch, StateWrite
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_fetches import ShareGroupLab, ShareMember

ARCHIVING, UNKNOWN, NEGATIVE = 3, 127, -1
RECORDS = 10


def lab_with(*states: int) -> ShareGroupLab:
    """A partition for each: its first five records are stored as being in that state."""
    lab = ShareGroupLab(len(states))
    for partition, state in enumerate(states):
        lab.initialize(partition, 2, 0)
        lab.produce(RECORDS, partition=partition)
        write(lab, partition, state)
    return lab


def write(lab: ShareGroupLab, partition: int, state: int) -> None:
    """Store it as WriteShareGroupState does."""
    answers: list[ErrorCode] = []
    change = StateWrite(2, NO_EPOCH, 0, 0, (StateBatch(0, 4, state, 1),))
    asking.write(
        lab.cluster.nodes[1], lab.key(partition), change, lambda code, _now: answers.append(code), lab.sim.network.now
    )
    assert answers == [ErrorCode.NONE]


def found(member: ShareMember, *partitions: int) -> dict[int, tuple[int, list[tuple[int, int]]]]:
    """The error and the acquired offsets of each partition."""
    answer = member.send(*partitions, wait=0)
    assert answer.error_code == 0
    return {
        each.partition_index: (
            each.error_code,
            [(acquired.first_offset, acquired.last_offset) for acquired in each.acquired_records],
        )
        for topic in answer.responses
        for each in topic.partitions
    }


@pytest.mark.rules("SGP-1")
def test_records_that_are_being_archived() -> None:
    """Nobody acquires them, and the start stays before them: 4.3.1 gives what follows (seen)."""
    lab = lab_with(ARCHIVING)
    member = lab.member("m")

    assert found(member, 0) == {0: (0, [(5, 9)])}
    assert member.acknowledge((5, 9, 1)) == 0
    assert lab.stored_start() == 0
    assert lab.states()[4] == ("Archiving", 1)
    assert found(member) == {}


@pytest.mark.rules("SGP-1")
@pytest.mark.parametrize("state", [UNKNOWN, NEGATIVE])
def test_a_state_that_there_is_not(state: int) -> None:
    """UNKNOWN_SERVER_ERROR for its partition, whenever it is asked for; the others are served (seen on 4.3.1)."""
    lab = lab_with(state, 2)
    member = lab.member("m")

    assert found(member, 0, 1) == {0: (ErrorCode.UNKNOWN_SERVER_ERROR, []), 1: (0, [(5, 9)])}
    assert found(member)[0] == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    assert lab.sim.engine.errors == []
    lab.initialize(0, 3, 5)
    assert found(member)[0] == (0, [(5, 9)])


def test_how_they_are_shown() -> None:
    """By Kafka's name, or as the number."""
    lab = lab_with(ARCHIVING, UNKNOWN)
    initialized = {lab.topic.id: ("t", [0, 1])}
    group = SimpleNamespace(group_id="g", state_partitions=SimpleNamespace(initialized=initialized))
    views = share_partitions_of(lab.cluster, cast("Any", group), lab.sim.network.now)

    assert [view.records[0].state for view in views] == ["Archiving", "127"]
