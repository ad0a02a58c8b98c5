"""Which share partitions have a state: values that say what becomes of them."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.modern.assignments import AssignorGroup, AssignorMember
from fakebroker.broker.core.groups.share.records import state_partitions_of, state_partitions_record
from fakebroker.broker.core.groups.share.simple_assignor import assign
from fakebroker.broker.core.groups.share.state_partitions import (
    Partitions,
    StatePartitions,
    TopicPartitions,
    united,
    without,
)
from fakebroker.broker.core.groups.share.states import PARTITION_TRANSITIONS, PartitionEvent, PartitionState
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.support.cluster import make_cluster

A, B, C = (bytes([number] * 16) for number in range(1, 4))
NAMES = {A: "a", B: "b", C: "c"}


def of(**topics: tuple[int, ...]) -> Partitions:
    """Partitions of topics "a", "b" and "c"."""
    return {{"a": A, "b": B, "c": C}[name]: TopicPartitions(name, indexes) for name, indexes in topics.items()}


def pairs(partitions: Partitions) -> set[tuple[bytes, int]]:
    return {(topic_id, index) for topic_id, each in partitions.items() for index in each.partitions}


sets_of_partitions = st.dictionaries(
    st.sampled_from([A, B, C]), st.sets(st.integers(0, 5), min_size=1, max_size=4), max_size=3
).map(
    lambda found: {topic_id: TopicPartitions(NAMES[topic_id], tuple(sorted(each))) for topic_id, each in found.items()}
)


@given(sets_of_partitions, sets_of_partitions)
def test_union_and_difference(some: Partitions, more: Partitions) -> None:
    """They are those of sets, without topics that have no partition left."""
    assert pairs(united(some, more)) == pairs(some) | pairs(more)
    assert pairs(without(some, more)) == pairs(some) - pairs(more)
    assert all(each.partitions for each in without(some, more).values())


class Compared(int):
    """An index that counts how often any of them is compared with another one."""

    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return int.__eq__(self, other) is True

    __hash__ = int.__hash__


def test_partitions_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each partition is looked up once: to search the others for each of them is quadratic."""
    topics = make_cluster().topics
    topic = topics.create("a", 400, 1)
    some = {topic.id: TopicPartitions("a", tuple(Compared(index) for index in range(300)))}
    more = {topic.id: TopicPartitions("a", tuple(Compared(index) for index in range(100, 400)))}
    monkeypatch.setattr(Compared, "count", 0)
    without(some, more)
    united(some, more)
    StatePartitions(some, more).to_initialize(["a"], topics, 500, 0)
    members = {"m": AssignorMember([topic.id])}
    group = AssignorGroup(members, {topic.id: 400}, True, {topic.id: some[topic.id].partitions})
    finished(assign(group, AT_ONCE))
    assert Compared.count <= 5 * 400


@pytest.mark.rules("SGH-10")
def test_what_is_to_be_initialized() -> None:
    """Existing partitions without a state; those asked for count until the retry interval is over."""
    topics = make_cluster().topics
    topic = topics.create("a", 3, 1)
    known = StatePartitions(
        {topic.id: TopicPartitions("a", (1,))}, {topic.id: TopicPartitions("a", (0,))}, {}, since_ms=1000
    )

    def asked(now_ms: int, names: tuple[str, ...] = ("a", "none")) -> list[tuple[int, ...]]:
        return [each.partitions for each in known.to_initialize(names, topics, 500, now_ms).values()]

    assert asked(1499) == [(2,)]
    assert asked(1500) == [(1, 2)]
    assert asked(1500, ("none",)) == []


@pytest.mark.rules("SGH-10")
def test_asking_succeeds_or_fails() -> None:
    """What succeeded has a state; what failed counts as never asked for."""
    known = StatePartitions().began(of(a=(0, 1), b=(0,)))

    assert known.succeeded(of(a=(0,))) == StatePartitions(of(a=(1,), b=(0,)), of(a=(0,)))
    assert known.failed(of(a=(0, 1))) == StatePartitions(of(b=(0,)))


@pytest.mark.rules("SGO-4")
def test_a_state_that_begins_anew_is_kept() -> None:
    """The partitions stay initialized while they are asked for again."""
    known = StatePartitions({}, of(a=(0, 1)))

    assert known.began(of(a=(1,))) == StatePartitions(of(a=(1,)), of(a=(0, 1)))


@pytest.mark.rules("SGO-5", "SGL-3")
def test_deletion() -> None:
    """Topics that are meant leave both lists for that of deletions, and that in the end."""
    known = StatePartitions(of(b=(1,)), of(a=(0,), b=(0,)))

    began = known.deletion_began(lambda topic_id: topic_id == B)

    assert began == StatePartitions({}, of(a=(0,)), {B: "b"})
    assert began.forgot([B]) == StatePartitions({}, of(a=(0,)))
    assert known.deletion_began(lambda _: True) == StatePartitions({}, {}, {B: "b", A: "a"})


def state_of(known: StatePartitions) -> PartitionState:
    """What is known of partition 0 of "a"."""
    initializing, initialized = ((A, 0) in pairs(each) for each in (known.initializing, known.initialized))
    if A in known.deleting:
        return PartitionState.DELETING
    if initializing:
        return PartitionState.REINITIALIZING if initialized else PartitionState.INITIALIZING
    return PartitionState.INITIALIZED if initialized else PartitionState.UNKNOWN


IN_STATE = {
    PartitionState.UNKNOWN: StatePartitions(),
    PartitionState.INITIALIZING: StatePartitions(of(a=(0,))),
    PartitionState.INITIALIZED: StatePartitions({}, of(a=(0,))),
    PartitionState.REINITIALIZING: StatePartitions(of(a=(0,)), of(a=(0,))),
    PartitionState.DELETING: StatePartitions({}, {}, {A: "a"}),
}
STEPS: dict[PartitionEvent, Callable[[StatePartitions], StatePartitions]] = {
    PartitionEvent.ASKED_FOR: lambda known: known.began(of(a=(0,))),
    PartitionEvent.MADE: lambda known: known.succeeded(of(a=(0,))),
    PartitionEvent.FAILED: lambda known: known.failed(of(a=(0,))),
    PartitionEvent.DELETION_BEGAN: lambda known: known.deletion_began(lambda _: True),
    PartitionEvent.FORGOTTEN: lambda known: known.forgot([A]),
}


@pytest.mark.rules("SGH-10", "SGO-4", "SGO-5")
@pytest.mark.parametrize(("before", "event"), PARTITION_TRANSITIONS)
def test_the_table(before: PartitionState, event: PartitionEvent) -> None:
    """Each step of a share partition is what the table says."""
    after = STEPS[event](IN_STATE[before])

    assert state_of(IN_STATE[before]) is before
    assert state_of(after) is PARTITION_TRANSITIONS[before, event]


@given(
    sets_of_partitions,
    sets_of_partitions,
    st.dictionaries(st.sampled_from([A, B, C]), st.just("x")),
    st.integers(0, 2**40),
)
def test_the_record_says_it_all(
    initializing: Partitions, initialized: Partitions, deleting: Mapping[bytes, str], now_ms: int
) -> None:
    """A value that is written and read is the same, but for when: that is when it is read."""
    known = StatePartitions(initializing, initialized, deleting, 7)

    assert state_partitions_of(state_partitions_record("g", known).value, now_ms) == known._replace(since_ms=now_ms)
