"""Offsets of open transactions: the order of the log decides what counts when they end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.offsets.pending import PendingOffsets
from tests.support.offsets import NO_ID
from tests.support.work_counter import operations_of

PLACE = ("t", 0)
PLACES = [(topic, index) for topic in "tu" for index in range(2)]


def offset(value: int) -> tuple[str, int, int, int, str, int, int, bytes]:
    return (*PLACE, value, -1, "", 0, -1, NO_ID)


@pytest.mark.rules("LD-2", "OC-18")
@pytest.mark.parametrize("first", [1, 2])
def test_two_transactions_hold_the_same_partition(first: int) -> None:
    """Whichever ends first: the offset further back in the log stays."""
    pending = PendingOffsets()
    pending.add(1, [offset(10)], 100)
    pending.add(2, [offset(20)], 101)

    counting = pending.complete(first, True) + pending.complete(3 - first, True)

    assert counting[-1] == offset(20)


@pytest.mark.rules("OC-16")
def test_a_transaction_commits_twice() -> None:
    """The last offset of a transaction for a partition counts."""
    pending = PendingOffsets()
    pending.add(1, [offset(10)], 100)
    pending.add(1, [offset(11)], 101)

    assert pending.complete(1, True) == [offset(11)]
    assert not pending


@pytest.mark.rules("OF-9", "OC-18")
def test_a_superseded_offset_keeps_its_partition_unstable() -> None:
    """A plain commit takes the pending offset's chance, but the transaction is still open."""
    pending = PendingOffsets()
    pending.add(1, [offset(10)], 100)
    pending.supersede(*PLACE, 101)

    assert pending.has(*PLACE)
    assert pending.complete(1, True) == []


@pytest.mark.rules("OD-7", "EX-12")
def test_dropped_offsets() -> None:
    """A partition can be forgotten in all transactions; one without offsets left is over."""
    pending = PendingOffsets()
    pending.add(1, [offset(10)], 100)
    pending.add(2, [offset(20), ("u", 1, 1, -1, "", 0, -1, NO_ID)], 101)
    pending.drop(*PLACE)

    assert pending.producer_ids() == [2]
    assert pending.partitions() == [("u", 1)]


def test_an_unknown_producer_has_nothing() -> None:
    """The marker of a transaction without offsets changes nothing."""
    assert PendingOffsets().complete(5, True) == []


ACTIONS = st.tuples(
    st.sampled_from(["add", "supersede", "drop", "commit", "abort"]), st.sampled_from(PLACES), st.integers(1, 3)
)


class Model:
    """The same in few words: by producer and partition the log offset, and whether it counts."""

    def __init__(self) -> None:
        self.has: dict[int, dict[tuple[str, int], tuple[int, bool]]] = {}

    def supersede(self, place: tuple[str, int], log_offset: int) -> None:
        for mine in self.has.values():
            if place in mine and mine[place][0] < log_offset:
                mine[place] = mine[place][0], False

    def drop(self, place: tuple[str, int]) -> None:
        for producer_id, mine in list(self.has.items()):
            mine.pop(place, None)
            if not mine:
                del self.has[producer_id]

    def complete(self, producer_id: int, commit: bool) -> list[tuple[str, int]]:
        mine = self.has.pop(producer_id, {})
        counting = [(place, log_offset) for place, (log_offset, counts) in mine.items() if counts and commit]
        for place, log_offset in counting:
            self.supersede(place, log_offset)
        return [place for place, _ in counting]


@given(st.lists(ACTIONS))
def test_all_ways_lead_to_the_same(actions: list[tuple[str, tuple[str, int], int]]) -> None:
    """What each producer has, whether a partition has any, and which of them count, whatever happened."""
    pending, model = PendingOffsets(), Model()
    for log_offset, (action, place, producer_id) in enumerate(actions):
        if action == "add":
            pending.add(producer_id, [(*place, log_offset, -1, "", 0, -1, NO_ID)], log_offset)
            model.has.setdefault(producer_id, {})[place] = log_offset, True
        elif action == "supersede":
            pending.supersede(*place, log_offset)
            model.supersede(place, log_offset)
        elif action == "drop":
            pending.drop(*place)
            model.drop(place)
        else:
            completed = pending.complete(producer_id, action == "commit")
            assert [each[:2] for each in completed] == model.complete(producer_id, action == "commit")
        assert {(producer, tuple(partition)): stored is not None for producer, partition, stored in pending.each()} == {
            (producer, place): counts for producer, mine in model.has.items() for place, (_, counts) in mine.items()
        }
        there = {partition for _, partition, _ in pending.each()}
        assert {place for place in PLACES if pending.has(*place)} == there == set(pending.partitions())
        assert {each for topic in "tu" for each in pending.partitions_of(topic)} == there
        assert set(pending.producer_ids()) == {producer for producer, _, _ in pending.each()}


@pytest.mark.rules("OF-9")
def test_very_many_transactions_take_no_longer() -> None:
    """A stable OffsetFetch asks for each partition whether it is pending: 10,000 of each took 5 s."""
    few, many = PendingOffsets(), PendingOffsets()
    for pending, count in ((few, 10), (many, 1000)):
        for producer_id in range(count):
            pending.add(producer_id, [("t", producer_id, 1, -1, "", 0, -1, NO_ID)], 100 + producer_id)
    assert operations_of(lambda: many.has("t", 5)) == operations_of(lambda: few.has("t", 5))
    assert operations_of(lambda: many.drop("t", 5)) == operations_of(lambda: few.drop("t", 5))


@pytest.mark.rules("OC-18")
def test_what_is_superseded_is_not_looked_at_again() -> None:
    """Plain commits of 1,000 partitions that 1,000 open transactions have, too, took 4 s each."""
    pending = PendingOffsets()
    for producer_id in range(1000):
        pending.add(producer_id, [offset(1)], producer_id)
    first = operations_of(lambda: pending.supersede(*PLACE, 2000))
    assert operations_of(lambda: pending.supersede(*PLACE, 2001)) < first / 100
