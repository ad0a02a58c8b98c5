"""Offsets of open transactions: the order of the log decides what counts when they end."""

import pytest

from fakebroker.broker.core.offsets.pending import PendingOffsets
from tests.support.offsets import NO_ID

PLACE = ("t", 0)


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
