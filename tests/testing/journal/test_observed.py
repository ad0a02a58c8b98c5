"""Observers of a journal: each gets every entry in order, and in a turn no more than a step of long ones."""

from collections.abc import Callable, Sequence
from itertools import count

import pytest

from fakebroker.broker.engine.journal import Event, Exchange, Peer, Recorded
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import STEP_S
from fakebroker.testing.journal import observed
from fakebroker.testing.journal.observed import ObservedJournal, Observer
from tests.support.frames import request

LONG = request("DescribeGroups", 5, groups=[f"g{index:06}" for index in range(5000)])[4:]
PEER = Peer(1, "/127.0.0.1", 1)
NOW = Instant(1, 1)


class Noting(Observer):
    """Notes the numbers of what it gets."""

    def __init__(self) -> None:
        self.turns: list[list[int]] = []
        self.is_over = False

    def tell(self, entries: Sequence[Exchange | Recorded[Event]]) -> None:
        """One call of many."""
        self.turns.append([each.seq for each in entries])

    def end(self) -> None:
        """After this there is nothing."""
        self.is_over = True

    @property
    def seqs(self) -> list[int]:
        """All of them."""
        return [seq for seqs in self.turns for seq in seqs]


def slow_journal(observer: Observer) -> ObservedJournal:
    """By its stopwatch a step is over after each look."""
    clock = count()
    return ObservedJournal([observer], lambda: next(clock) * 2 * STEP_S)


def add(journal: ObservedJournal, entries: int) -> None:
    for _ in range(entries):
        journal.exchange(PEER, LONG, None, NOW, NOW)


def test_long_requests_come_in_later_turns() -> None:
    """One after the other, in order, also beside new ones; short ones come together."""
    noting = Noting()
    journal = slow_journal(noting)
    add(journal, 3)
    assert journal.tell()
    assert noting.seqs == [0]
    add(journal, 1)
    assert journal.tell()
    assert journal.tell()
    assert not journal.tell()
    assert noting.seqs == [0, 1, 2, 3]
    for _ in range(20):
        journal.exchange(PEER, LONG[:100], None, NOW, NOW)
    assert not journal.tell()
    assert noting.turns[-1] == list(range(4, 24))


@pytest.mark.parametrize("end", [ObservedJournal.end, ObservedJournal.clear, ObservedJournal.tell_all])
def test_nothing_is_left_at_the_end(end: Callable[[ObservedJournal], object]) -> None:
    """What is stopped or reset has told all; numbers are right."""
    noting = Noting()
    journal = slow_journal(noting)
    add(journal, 5)
    assert journal.tell()
    end(journal)
    assert noting.seqs == [0, 1, 2, 3, 4]
    assert not journal.tell()


def test_only_so_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends faster than observers get it waits for them: memory is bounded, and so is what a kill loses."""
    monkeypatch.setattr(observed, "MAX_LEFT_BYTES", 2 * len(LONG))
    noting = Noting()
    journal = slow_journal(noting)
    add(journal, 6)
    assert journal.tell()
    assert noting.seqs == [0, 1, 2, 3]


def test_without_a_stopwatch_all_comes_at_once() -> None:
    """As in virtual time."""
    noting = Noting()
    journal = ObservedJournal([noting])
    add(journal, 6)
    assert not journal.tell()
    assert noting.seqs == [0, 1, 2, 3, 4, 5]
